// Spares of a job: members without a position, who fails, and who follows whom.
//
// The seats are planned anew each time that MUSTER looks whether it is over (spares.h) and
// changed once, when it is: a plan that leaves positions vacant moves nobody. A member that
// was lost has left its position, even if it is back before the next attempt: whether a spare
// takes over does not hang on who is faster. Members of a list of addresses are told apart by
// their agents' hostnames, once these are there.
#include <stdlib.h>
#include <string.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/hostname.h"
#include "launcher/job_internal.h"
#include "launcher/replace_hook.h"
#include "launcher/spares.h"

// By member.
struct standing {
    char at[64];        // where its agent greeted last
    bool lost;          // in the current attempt
    char *why;          // lost, and --replace-hook was not told; NULL
    uint64_t until_ms;  // avoided
    char failed_at[64]; // there: another address is another pod's
};

struct job_spares {
    struct standing *v; // NULL before connect
    char **called;      // hostname of each position in the attempt before; NULL: none
    uint32_t ncalled;
    struct replace_hook *hook;
};

int job_spares_map(const struct job *j, const struct map_member *m, struct map *map,
                   struct err *err)
{
    uint32_t n = j->group.n, spares = j->opts->spares;
    struct map_request rq = j->opts->map;
    // Without a group nobody said how much this machine may be used: as much as asked.
    rq.oversubscribe = rq.oversubscribe || j->local;
    if (spares >= n) {
        err_set(err, "--spares %u: there are %u members, so none is left for the ranks",
                spares, n);
        return -1;
    }
    int rc = map_ranks(m, n - spares, &rq, map, err);
    if (rc < 0 && spares > 0)
        err_prefix(err, "without the last %u of %u members (--spares)", spares, n);
    return rc;
}

// Nobody has taken its place yet, and its source still says that it is where it was.
static bool is_gone(void *arg, uint32_t member)
{
    const struct job *j = arg;
    const struct group_member *m = &j->group.v[member];
    bool out = m->state == GROUP_LOST || j->at->seats[member].replaced;
    return out && strcmp(m->address, j->spares->v[member].at) == 0;
}

int job_spares_create(struct job *j, struct err *err)
{
    const struct replace_hook_conf conf = {.base = j->conf.base,
                                           .log = j->conf.log,
                                           .events = j->conf.events,
                                           .program = j->opts->replace_hook,
                                           .job = j->key,
                                           .is_wanted = is_gone,
                                           .arg = j};
    j->spares = xcalloc(1, sizeof *j->spares);
    if (conf.program == NULL)
        return 0;
    j->spares->hook = replace_hook_create(&conf, err);
    return j->spares->hook != NULL ? 0 : -1;
}

void job_spares_start(struct job *j)
{
    j->spares->v = xcalloc(j->group.n, sizeof *j->spares->v);
}

static void forget_names(struct job_spares *s)
{
    for (uint32_t p = 0; p < s->ncalled; p++)
        free(s->called[p]);
    free(STEAL(s->called));
    s->ncalled = 0;
}

void job_spares_seated(struct job *j)
{
    struct job_spares *s = j->spares;
    uint32_t n = j->map.npositions;
    forget_names(s);
    s->called = xcalloc(n, sizeof *s->called);
    for (uint32_t p = 0; p < n; p++)
        s->called[s->ncalled++] =
            xstrdup(j->roll->members[j->map.positions[p].member].hostname);
}

void job_spares_destroy(struct job *j)
{
    if (j->spares == NULL)
        return;
    replace_hook_destroy(j->spares->hook);
    for (uint32_t i = 0; j->spares->v != NULL && i < j->group.n; i++)
        free(j->spares->v[i].why);
    forget_names(j->spares);
    free(j->spares->v);
    free(j->spares);
    j->spares = NULL;
}

void job_spares_greeted(struct job *j, uint32_t member)
{
    struct standing *s = &j->spares->v[member];
    memcpy(s->at, j->group.v[member].address, sizeof s->at);
    free(STEAL(s->why));
}

// ---- who fails ------------------------------------------------------------------

void job_spares_failed(struct job *j, uint32_t member)
{
    struct standing *s = &j->spares->v[member];
    s->until_ms = loop_now_ms() + j->opts->avoid_ms;
    memcpy(s->failed_at, s->at, sizeof s->failed_at);
    job_record_changed(j);
}

static void ask_for_another(struct job *j, uint32_t member)
{
    struct standing *s = &j->spares->v[member];
    uint32_t attempt = j->at->number > 0 ? j->at->number : 1; // that comes
    CLEANUP_FREE char *why = STEAL(s->why);
    const struct replace_hook_loss loss = {.member = member,
                                           .name = j->group.v[member].member->name,
                                           .address = s->at,
                                           .reason = why,
                                           .attempt = attempt};
    if (why != NULL && j->spares->hook != NULL)
        replace_hook_tell(j->spares->hook, &loss);
}

// A loss that ends the attempt waits until it is known that another one follows.
void job_spares_lost(struct job *j, uint32_t member, const char *why)
{
    struct standing *s = &j->spares->v[member];
    bool ends = job_attempt_lives(j) && j->at->seats[member].hosts;
    job_spares_failed(j, member);
    s->lost = true;
    free(s->why);
    s->why = xstrdup(why);
    if (!ends && j->state < JOB_STOP && j->opts->policy.on_failure == POLICY_RESTART)
        ask_for_another(j, member);
}

void job_spares_absent(struct job *j, uint32_t member)
{
    const struct group_member *m = &j->group.v[member];
    memcpy(j->spares->v[member].at, m->address, sizeof m->address);
    job_spares_lost(j, member, m->why != NULL ? m->why : "it is not there");
}

void job_spares_standing(const struct job *j, uint32_t member, struct job_standing *out)
{
    const struct standing *s = &j->spares->v[member];
    uint64_t now = loop_now_ms();
    memcpy(out->address, s->failed_at, sizeof out->address);
    out->avoid_ms = s->until_ms > now ? (uint32_t)(s->until_ms - now) : 0;
    out->lost = s->lost;
}

void job_spares_restore(struct job *j, uint32_t member, const struct job_standing *from)
{
    struct standing *s = &j->spares->v[member];
    memcpy(s->failed_at, from->address, sizeof s->failed_at);
    s->until_ms = loop_now_ms() + from->avoid_ms;
    s->lost = s->lost || from->lost;
}

// What holds that process holds its device, too. Only where somebody makes another pod is
// this one given up: its agent is well, and better than none.
void job_spares_blame(struct job *j, uint32_t member, const char *process)
{
    struct standing *s = &j->spares->v[member];
    struct job_seat *seat = &j->at->seats[member];
    job_spares_failed(j, member);
    if (j->spares->hook == NULL)
        return;
    seat->replaced = true;
    seat->leaves = true;
    free(s->why);
    s->why = xasprintf("process %s outlived SIGKILL", process);
    group_set_why(&j->group.v[member], s->why);
}

void job_spares_unfit(struct job *j, uint32_t member, const char *why)
{
    struct standing *s = &j->spares->v[member];
    struct job_seat *seat = &j->at->seats[member];
    seat->replaced = true;
    seat->leaves = true;
    group_set_why(&j->group.v[member], why);
    job_spares_failed(j, member);
    free(s->why);
    s->why = xstrdup(why);
    if (j->opts->policy.on_failure == POLICY_RESTART)
        ask_for_another(j, member);
}

void job_spares_begin(struct job *j)
{
    if (j->verdict.failed && j->verdict.rank >= 0)
        job_spares_failed(j, j->at->ranks[j->verdict.rank].member);
    for (uint32_t i = 0; i < j->group.n; i++)
        ask_for_another(j, i);
}

static bool has_failed(const struct job *j, uint32_t member)
{
    const struct standing *s = &j->spares->v[member];
    return s->lost || (s->until_ms > loop_now_ms() &&
                       strcmp(s->failed_at, j->group.v[member].address) == 0);
}

// ---- who follows ----------------------------------------------------------------

static struct spares_member *list_members(const struct job *j)
{
    struct spares_member *m = xcalloc(j->group.n, sizeof *m);
    for (uint32_t i = 0; i < j->group.n; i++) {
        m[i].there = j->group.v[i].state == GROUP_ATTACHED && !j->at->seats[i].leaves;
        m[i].failed = has_failed(j, i);
        m[i].slots = j->opts->map.oversubscribe ? UINT32_MAX : job_slots(j, i);
        if (m[i].there && hostname_is_of_address(j->roll->members[i].name))
            m[i].hostname = j->roll->members[i].hostname;
    }
    return m;
}

static void list_seats(const struct job *j, uint32_t *seats, uint32_t *needs)
{
    for (uint32_t p = 0; p < j->map.npositions; p++) {
        seats[p] = j->map.positions[p].member;
        needs[p] = j->map.positions[p].count;
    }
}

uint32_t job_spares_plan(const struct job *j, uint32_t *seats)
{
    CLEANUP_FREE struct spares_member *m = list_members(j);
    CLEANUP_FREE uint32_t *needs = xcalloc(j->map.npositions, sizeof *needs);
    list_seats(j, seats, needs);
    return spares_seat(m, j->group.n, seats, needs, j->map.npositions);
}

void job_spares_inherit(struct job *j, const uint32_t *found)
{
    uint32_t n = j->map.npositions;
    CLEANUP_FREE struct spares_member *m = list_members(j);
    CLEANUP_FREE uint32_t *seats = xcalloc(n, sizeof *seats);
    CLEANUP_FREE uint32_t *needs = xcalloc(n, sizeof *needs);
    list_seats(j, seats, needs);
    if (!spares_inherit(m, j->group.n, seats, found, needs, n))
        log_warn(j->conf.log,
                 "who had positions of job %s before has not the slots that "
                 "these need now: its members are placed anew",
                 j->key);
    for (uint32_t p = 0; p < n; p++)
        j->map.positions[p].member = seats[p];
}

static void tell(const struct job *j, uint32_t position, uint32_t from, uint32_t to,
                 const char *what)
{
    CLEANUP_FREE char *before = group_member_text(&j->group.v[from]);
    CLEANUP_FREE char *after = group_member_text(&j->group.v[to]);
    CLEANUP_FREE char *ranks = map_ranks_text(&j->map.positions[position]);
    log_warn(j->conf.log, "%s: from member %s to %s %s", ranks, before, what, after);
    events_write(j->conf.events, "seat",
                 jsonpack("{s:i, s:i, s:s, s:s}", "attempt", (int)j->at->number + 1,
                          "position", (int)position, "was",
                          j->group.v[from].member->name, "member",
                          j->group.v[to].member->name));
}

static void recognize(const struct job *j, uint32_t *seats)
{
    uint32_t n = j->map.npositions;
    CLEANUP_FREE struct spares_member *m = list_members(j);
    CLEANUP_FREE uint32_t *now = xcalloc(n, sizeof *now);
    CLEANUP_FREE uint32_t *needs = xcalloc(n, sizeof *needs);
    CLEANUP_FREE const char **called = xcalloc(n, sizeof *called);
    list_seats(j, now, needs);
    for (uint32_t p = 0; p < n && p < j->spares->ncalled; p++)
        called[p] = j->spares->called[p][0] != '\0' ? j->spares->called[p] : NULL;
    spares_recognize(m, seats, called, needs, n);
}

void job_spares_take(struct job *j)
{
    CLEANUP_FREE uint32_t *seats = xcalloc(j->map.npositions, sizeof *seats);
    CLEANUP_FREE bool *seated = xcalloc(j->group.n, sizeof *seated);
    ERR_AUTO err = ERR_INIT;
    bool changed = false;
    job_spares_plan(j, seats);
    recognize(j, seats);
    for (uint32_t p = 0; p < j->map.npositions; p++)
        seated[j->map.positions[p].member] = true;
    for (uint32_t p = 0; p < j->map.npositions; p++) {
        uint32_t from = j->map.positions[p].member;
        if (seats[p] == from)
            continue;
        tell(j, p, from, seats[p], seated[seats[p]] ? "its pod, now at" : "the spare");
        j->map.positions[p].member = seats[p];
        changed = true;
    }
    for (uint32_t i = 0; i < j->group.n; i++)
        j->spares->v[i].lost = false;
    if (changed && job_roll_seat(j, &err) < 0)
        log_warn(j->conf.log, "the roll stays as it was: %s", err_text(&err));
}
