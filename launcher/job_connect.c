// Connect: from found members to attached ones, and their loss.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/ownaddr.h"
#include "launcher/input.h"
#include "launcher/job_internal.h"
#include "launcher/job_plan.h"
#include "wire/msg.h"

uint32_t job_slots(const struct job *j, uint32_t member)
{
    int slots = j->group.v[member].member->slots;
    return slots >= 0 ? (uint32_t)slots : j->roll->members[member].cpus;
}

// Positions and ranks, once every member's slots are known.
static int make_map(struct job *j, struct err *err)
{
    CLEANUP_FREE struct map_member *m = xcalloc(j->group.n, sizeof *m);
    CLEANUP_FREE uint32_t *domain = xcalloc(j->group.n, sizeof *domain);
    if (j->opts->subgroup > 0 &&
        grid_domains(j->group.n, j->opts->subgroup, j->opts->subgroup_leader_apart,
                     domain, err) < 0)
        return -1;
    for (uint32_t i = 0; i < j->group.n; i++)
        m[i] =
            (struct map_member){j->roll->members[i].name, job_slots(j, i), domain[i]};
    return job_spares_map(j, m, &j->map, err);
}

// Every program has ranks.
static int check_apps(const struct job *j, struct err *err)
{
    CLEANUP_FREE uint32_t *ranks = xcalloc(j->opts->apps.n, sizeof *ranks);
    return apps_opts_share(&j->opts->apps, j->map.ranks, ranks, err);
}

static int check_input(const struct job *j, struct err *err)
{
    uint32_t who = j->opts->input;
    if (who == INPUT_ALL || who <= j->map.ranks)
        return 0;
    err_set(err, "--stdin %u: there are %u ranks, numbered from 0", who - 1,
            j->map.ranks);
    return -1;
}

static void connected(struct job *j)
{
    ERR_AUTO err = ERR_INIT;
    bool mapped = j->map.npositions > 0; // and the other roles were waited for since
    if (j->state != JOB_CONNECT)
        return;
    if (!mapped && (make_map(j, &err) < 0 || check_apps(j, &err) < 0 ||
                    job_roll_seat(j, &err) < 0 || check_input(j, &err) < 0)) {
        job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE, "%s", err_text(&err));
        return;
    }
    job_roles_tell(j);
    if (!job_roles_are_awaited(j))
        job_event(j, JOB_EV_CONNECTED);
}

// A job that only inspects does not need those that cannot be reached.
static void connected_if_all(struct job *j)
{
    uint32_t n = group_attached(&j->group);
    for (uint32_t i = 0; i < j->group.n && j->opts->check.only; i++)
        n += j->group.v[i].state == GROUP_LOST ? 1 : 0;
    if (n == j->group.n)
        connected(j);
}

void job_connected(struct job *j)
{
    if (j->map.npositions > 0)
        connected(j);
}

// Who would dial it is not there.
static bool is_hidden(struct job *j, uint32_t vertex)
{
    uint32_t parent = tree_parent(&j->tree, vertex);
    return parent > 0 && group_at(&j->group, parent)->state != GROUP_ATTACHED;
}

static void go_on_without(struct job *j, uint32_t waited_ms)
{
    CLEANUP_FREE char *why = xasprintf("it has not come within %g s", waited_ms / 1e3);
    for (uint32_t i = 0; i < j->group.n; i++) {
        struct group_member *m = &j->group.v[i];
        if (m->state == GROUP_ATTACHED)
            continue;
        group_happens(m, GROUP_EV_LATE);
        m->hidden = m->hidden && is_hidden(j, group_vertex_of(&j->group, i));
        if (m->why == NULL)
            group_set_why(m, why);
    }
    connected(j);
    for (uint32_t v = 1; v <= j->group.n; v++)
        job_return_want(j, v);
    job_exchange_check(j);
}

void job_connect_late(struct job *j, const Muster__Progress *known)
{
    job_record_fill(j, known);
    go_on_without(j, job_claim_patience_ms(j));
}

bool job_connect_over(struct job *j)
{
    if (j->state != JOB_CONNECT || !j->opts->check.only ||
        group_attached(&j->group) == 0)
        return false;
    go_on_without(j, j->opts->wait_ms);
    return true;
}

// A pod has its name for good. Who has another one at the address that it had is another pod,
// which has been given the address.
static void learn_hostname(struct job *j, uint32_t vertex, const char *hostname)
{
    Muster__Member *told = j->attach->members[vertex - 1];
    if (!hostname_heads(hostname, told->name))
        return;
    free(told->hostname);
    told->hostname = xstrdup(hostname);
}

// It dials those below it by itself, whatever became of them before.
static void reach_children(struct job *j, uint32_t vertex)
{
    uint32_t first, n = tree_children(&j->tree, vertex, &first);
    for (uint32_t i = 0; i < n; i++)
        group_at(&j->group, first + i)->hidden = true;
}

void job_member_attached(struct job *j, uint32_t vertex, const Muster__Hello *hello)
{
    uint32_t member = group_member_of(&j->group, vertex);
    struct group_member *m = &j->group.v[member];
    bool first = j->state == JOB_CONNECT && m->state == GROUP_FOUND;
    bool back = j->state <= JOB_STOP && m->state == GROUP_LOST;
    if (!first && !back) {
        log_warn(j->conf.log, "dropped ATTACHED from member %s: it was attached before",
                 m->member->name);
        return;
    }
    if (hello->incarnation.len != ROLL_INCARNATION_BYTES) {
        job_member_missing(j, vertex, "its agent's greeting has no incarnation", 0,
                           true);
        return;
    }
    bool same = memcmp(j->roll->members[member].incarnation, hello->incarnation.data,
                       ROLL_INCARNATION_BYTES) == 0;
    group_happens(m, GROUP_EV_GREETED);
    reach_children(j, vertex);
    job_spares_greeted(j, member);
    m->agents += same ? 0 : 1;
    roll_greet(j->roll, member, hello->incarnation.data, hello->hostname, hello->cpus);
    learn_hostname(j, vertex, hello->hostname);
    job_inspect_greeted(j, member, same);
    events_write(j->conf.events, "attached",
                 jsonpack("{s:s, s:s, s:s, s:i}", "member", m->member->name, "address",
                          m->address, "hostname", hello->hostname, "cpus",
                          (int)hello->cpus));
    if (j->state == JOB_CONNECT)
        connected_if_all(j);
    else
        job_return_greet(j, vertex, same);
}

void job_member_missing(struct job *j, uint32_t vertex, const char *why, int code,
                        bool final)
{
    struct group_member *m = group_at(&j->group, vertex);
    group_set_why(m, why);
    // Lost with who was above it, it could as well have been alive. (The heir of a job in CLAIM
    // tells of all that are away: job_record_inherit().)
    if (m->state == GROUP_LOST && m->hidden && j->state != JOB_CLAIM)
        job_spares_absent(j, group_member_of(&j->group, vertex));
    m->hidden = false;
    log_debug(j->conf.log, "%s (%s): %s", m->member->name, m->address, why);
    if (m->state == GROUP_LOST) {
        job_return_missing(j, vertex, final);
        return;
    }
    if (!final || j->state != JOB_CONNECT)
        return;
    if (j->opts->check.only) {
        group_happens(m, GROUP_EV_LATE);
        connected_if_all(j);
        return;
    }
    m->refused = code > 0 ? code : VERDICT_OWN_FAILURE;
    if (!job_claim_may_go_on(j))
        job_connect_refused(j);
}

void job_connect_refused(struct job *j)
{
    for (uint32_t i = 0; i < j->group.n && j->state == JOB_CONNECT; i++) {
        const struct group_member *m = &j->group.v[i];
        if (m->state != GROUP_FOUND || m->refused == 0)
            continue;
        CLEANUP_FREE char *name = group_member_text(m);
        job_fail(j, VERDICT_LOSS, m->refused, "member %s: %s", name, m->why);
    }
}

// "rank 4 is", "ranks 4-7 are", "2 spawned ranks are" gone with a member.
static char *ranks_text(const struct job *j, uint32_t member)
{
    const struct map_position *p = NULL;
    uint32_t spawned = 0;
    for (uint32_t i = 0; i < j->map.npositions; i++)
        if (j->map.positions[i].member == member)
            p = &j->map.positions[i];
    CLEANUP_FREE char *own = p != NULL ? map_ranks_text(p) : NULL;
    if (p != NULL)
        return xasprintf("%s %s", own, p->count == 1 ? "is" : "are");
    for (uint32_t r = 0; r < j->at->nranks; r++)
        spawned += j->at->ranks[r].member == member && !j->at->ranks[r].exited ? 1 : 0;
    return spawned == 0   ? xstrdup("no rank is")
           : spawned == 1 ? xstrdup("a spawned rank is")
                          : xasprintf("%u spawned ranks are", spawned);
}

// Nobody has begun to count on the member. With --on-failure abort a loss in the first
// INSPECT is one as in CLAIM.
static bool is_gathering(const struct job *j, uint32_t member)
{
    return job_muster_gathers(j) &&
           (j->opts->policy.on_failure == POLICY_RESTART || j->reason != NULL ||
            job_position(j, group_vertex_of(&j->group, member)) == NULL);
}

// A loss ends the attempt, unless no rank was there, or all had ended well: then it only
// cannot be proven that nothing is left there.
static void tell_loss(struct job *j, uint32_t member, const char *why)
{
    CLEANUP_FREE char *name = group_member_text(&j->group.v[member]);
    if (j->state >= JOB_CLOSE)
        return;
    if (is_gathering(j, member) ||
        (job_attempt_lives(j) && !j->at->seats[member].hosts)) {
        log_warn(j->conf.log, "member %s was lost, no rank is gone with it: %s", name,
                 why);
        return;
    }
    bool early = j->state == JOB_CONNECT || j->state == JOB_CLAIM;
    if (early && j->opts->policy.on_failure == POLICY_RESTART)
        return; // it is dialed again, within --wait
    if (j->state >= JOB_STOP && !job_settling(j)) {
        log_warn(j->conf.log, "member %s was lost while its ranks were stopped: %s",
                 name, why);
        return;
    }
    CLEANUP_FREE char *ranks = ranks_text(j, member);
    job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE,
             "member %s was lost: %s; %s gone with it%s", name, why, ranks,
             j->opts->policy.on_failure == POLICY_ABORT
                 ? "; look at the pod and its musterd"
                 : "");
}

// The vertex itself, or one that is only below it.
static void lose_one(struct job *j, uint32_t vertex, uint32_t top,
                     const struct job_loss *l)
{
    uint32_t member = group_member_of(&j->group, vertex);
    struct group_member *m = &j->group.v[member];
    const char *why = l->why;
    bool blamed = vertex == top;
    if (!group_happens(m, GROUP_EV_LOST))
        return;
    group_set_why(m, why);
    m->hidden = !blamed;
    if (blamed)
        job_spares_lost(j, member, why);
    job_claim_lost(j, vertex); // the job may be ours with that, at another attempt
    struct job_seat *seat = job_seat(j, vertex);
    seat->hung_up = blamed && l->hung_up;
    job_inspect_lost(j, member, why);
    events_write(j->conf.events, "lost",
                 jsonpack("{s:s, s:s, s:s}", "member", m->member->name, "address",
                          m->address, "why", why));
    tell_loss(j, member, why);
    if (seat->hosts &&
        !seat->stopped) // an agent that is told to end goes with the proof
        job_stop_without_pre_stop(j);
    for (uint32_t r = 0; r < j->at->nranks; r++)
        if (j->at->ranks[r].member == member)
            job_rank_gone(j, r, why);
    if (seat->hosts && !seat->stopped) {
        // READY says that no rank of before is there, and without GO there is none since.
        if ((j->at->went || !seat->ready) && !(l->gone && blamed))
            job_return_fence(j, vertex, top, loop_now_ms() - l->silent_ms);
        seat->stopped = true;
        if (++j->at->stopped == j->at->hosts)
            job_stopped(j);
    }
}

void job_member_lost(struct job *j, uint32_t vertex, const struct job_loss *loss)
{
    if (j->state < JOB_CLOSE && group_at(&j->group, vertex)->state == GROUP_ATTACHED)
        job_stats_heard(j->stats, JOB_STATS_LOSS, loss->silent_ms);
    for (uint32_t v = 1; v <= j->group.n; v++) // the vertex itself comes first
        if (tree_contains(&j->tree, vertex, v))
            lose_one(j, v, vertex, loss);
    job_roll_lost(j);
    job_return_want(j, vertex);
    job_exchange_check(j);
    if (branch_attached(j->branch) == 0)
        job_event(j, JOB_EV_CLOSED);
}

static void on_attached(void *arg, uint32_t vertex, const Muster__Hello *hello)
{
    job_member_attached(arg, vertex, hello);
}

// The one before, if any, is lost.
static int adopt_local(struct job *j, uint32_t vertex, struct err *err)
{
    int fd;
    if (j->local_agent > 0) {
        kill(j->local_agent, SIGKILL);
        local_agent_end(j->local_agent);
    }
    j->local_agent = local_agent_start(&fd, err);
    if (j->local_agent < 0)
        return -1;
    branch_adopt(j->branch, vertex, fd, fd);
    return 0;
}

// Once for each attempt: one that does not stay until it has ranks will not the next time.
void job_connect_local(struct job *j)
{
    ERR_AUTO err = ERR_INIT;
    struct job_seat *seat = job_seat(j, 1);
    if (seat->fetched)
        err_set(&err, "%s", group_at(&j->group, 1)->why);
    else if (adopt_local(j, 1, &err) == 0)
        seat->fetched = true;
    if (err.text != NULL)
        job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE,
                 "this machine's agent was started anew, in vain: %s", err_text(&err));
}

// A member that is this very machine needs no sshd (mpi-operator's launcher has none).
static bool is_here(struct job *j, uint32_t vertex, const struct err *why)
{
    const struct group_member *m = group_at(&j->group, vertex);
    bool due =
        m->state == GROUP_LOST || (j->state == JOB_CONNECT && j->local_agent == 0);
    return due && j->via != NULL && why->kind != NULL &&
           strcmp(why->kind, "REFUSED_TCP") == 0 && ownaddr_is_own(&m->member->addr);
}

static void on_missing(void *arg, uint32_t vertex, const struct err *why, bool final)
{
    struct job *j = arg;
    ERR_AUTO err = ERR_INIT;
    if (!final && is_here(j, vertex, why)) {
        log_debug(j->conf.log, "member %s is this machine: its agent is started here",
                  group_at(&j->group, vertex)->member->name);
        if (adopt_local(j, vertex, &err) == 0)
            return;
        why = &err;
        final = true;
    }
    job_member_missing(j, vertex, err_text(why), why->code, final);
}

static void on_lost(void *arg, uint32_t vertex, const struct err *why)
{
    struct job *j = arg;
    const struct job_loss loss = {
        .why = err_text(why),
        .gone = why->kind != NULL && strcmp(why->kind, "GONE") == 0,
        .hung_up = branch_hung_up(j->branch, vertex),
        .silent_ms = branch_silent_ms(j->branch, vertex),
    };
    job_member_lost(j, vertex, &loss);
}

// A member whose link is reset may come back: the user hears of it only in the events.
static void on_broken(void *arg, uint32_t vertex, const struct err *why)
{
    struct job *j = arg;
    const struct group_member *m = group_at(&j->group, vertex);
    log_debug(j->conf.log, "member %s: connection lost: %s; it is dialed again",
              m->member->name, err_text(why));
    events_write(j->conf.events, "link-broken",
                 jsonpack("{s:s, s:s, s:s}", "member", m->member->name, "address",
                          m->address, "why", err_text(why)));
    job_roll_broken(j, vertex);
}

static void on_resumed(void *arg, uint32_t vertex)
{
    struct job *j = arg;
    const struct group_member *m = group_at(&j->group, vertex);
    log_debug(j->conf.log, "member %s: connection is back", m->member->name);
    events_write(
        j->conf.events, "link-resumed",
        jsonpack("{s:s, s:s}", "member", m->member->name, "address", m->address));
    job_roll_resumed(j, vertex);
    job_exchange_check(j);
}

void job_connect_start(struct job *j)
{
    static const struct branch_ops ops = {job_up_frame, on_attached, on_missing,
                                          on_lost,      on_broken,   on_resumed};
    ERR_AUTO err = ERR_INIT;
    j->at = job_attempt_create(j, 0);
    job_spares_start(j);
    job_inspect_start(j);
    j->roll = roll_create(j->key, j->term, &j->group.members);
    j->roll->pods =
        j->opts->source.kind == SOURCE_DNS || j->opts->source.kind == SOURCE_PODS;
    j->attach = job_plan_attach(j->roll, &j->group.members, j->opts);
    j->attach->via = STEAL(j->via_msg);
    j->attach->launcher_host = xstrdup(j->conf.hello->hostname);
    job_claim_create(j);
    j->tree = (struct tree){.vertices = j->group.n + 1, .fanout = j->opts->fanout};
    struct branch_conf conf = {.link = {.base = j->conf.base,
                                        .keys = j->conf.keys,
                                        .hello = j->conf.hello,
                                        .log = j->conf.log,
                                        .heartbeat_ms = j->attach->heartbeat_ms,
                                        .grace_ms = j->attach->link_grace_ms},
                               .tree = j->tree,
                               .attach = j->attach,
                               .job = j->id,
                               .term = j->term,
                               .via = j->via};
    j->branch = branch_create(&conf, &ops, j);
    if (j->local && adopt_local(j, 1, &err) < 0)
        job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE, "%s", err_text(&err));
}
