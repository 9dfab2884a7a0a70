// Worlds that ranks start: mapped here, prepared and started as the first one is.
//
//   SPAWN_REQUEST up --> map --> PREPARE down --> READY up from every member that hosts
//   ranks --> GO down --> STARTED up --> SPAWN_DONE to whoever asked
// Every such member has to be ready, with ranks of the new world or without: parents and
// children ask its PMIx server about each other. Where the world cannot be prepared, the
// asker gets an error and the job goes on, unless its MPI library leaves the asker's peers
// waiting then: that ends the job at once. Once GO was sent, a failure is the job's. Both
// waits, for READY and for STARTED, are bounded.
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "launcher/job_internal.h"
#include "launcher/job_plan.h"
#include "launcher/world_fsm.h"
#include "wire/msg.h"

enum { BOUND_MS = 60000, SILENT_SHOWN = 4 }; // above the agents' own bounds

// Who wants a world.
struct asker {
    struct verdict_rank rank; // as texts name it
    uint32_t vertex;
    uint64_t id;  // of its request
    bool strands; // an error would leave others waiting
};

struct job_world {
    enum world_state state;
    struct job *job;
    char *nspace;
    uint32_t number, first;
    struct map map;
    Muster__Prepare *prepare;
    bool plain;
    bool *silent;     // by member: it has to be ready, and is not yet
    uint32_t nsilent; // of them
    uint32_t started; // ranks
    uint32_t master_port;
    struct event *bound;
    struct asker asker;
};

// False: it means nothing there.
static bool happen(struct job_world *w, enum world_event ev)
{
    enum world_state was = w->state;
    bool moved = world_fsm_next(&w->state, ev);
    if (moved)
        log_debug(w->job->conf.log, "world %u: %s -- %s --> %s", w->number,
                  world_state_name(was), world_event_name(ev),
                  world_state_name(w->state));
    return moved;
}

const char *job_spawn_nspace(const struct job_world *w)
{
    return w->nspace;
}

uint32_t job_spawn_number(const struct job_world *w)
{
    return w->number;
}

bool job_spawn_is_plain(const struct job_world *w)
{
    return w->plain;
}

long job_rank_number(const struct job *j, const char *nspace, uint32_t rank)
{
    if (strcmp(nspace, j->at->nspace) == 0)
        return rank < j->map.ranks ? (long)rank : -1;
    for (size_t i = 0; i < j->at->nworlds; i++) {
        const struct job_world *w = j->at->worlds[i];
        if (strcmp(nspace, w->nspace) == 0 && rank < w->map.ranks)
            return (long)w->first + rank;
    }
    return -1;
}

static void world_free(struct job_world *w)
{
    free(w->nspace);
    free(w->silent);
    loop_timer_free(w->bound);
    map_free(&w->map);
    msg_free(w->prepare);
    free(w);
}

void job_spawn_end(struct job_attempt *at)
{
    for (size_t i = 0; i < at->nworlds; i++)
        world_free(at->worlds[i]);
    free(at->worlds);
}

// ---- answers ------------------------------------------------------------------

static void answer(struct job *j, const struct asker *a, const char *nspace,
                   const char *error)
{
    CLEANUP_FREE char *n = xstrdup(nspace), *e = xstrdup(error);
    Muster__SpawnDone m = MUSTER__SPAWN_DONE__INIT;
    m.id = a->id;
    m.nspace = n;
    m.error = e;
    job_send(j, FRAME_SPAWN_DONE, a->vertex, &m.base);
}

static void refuse(struct job *j, const struct asker *a, int code, const char *why)
{
    CLEANUP_FREE char *who = verdict_rank_text(&a->rank);
    events_write(j->conf.events, "spawn_failed", jsonpack("{s:s}", "why", why));
    if (a->strands) {
        job_fail(j, VERDICT_ERROR, code, "%s cannot spawn: %s", who, why);
        return;
    }
    log_warn(j->conf.log, "%s cannot spawn: %s", who, why);
    answer(j, a, "", why);
}

// ---- mapping ------------------------------------------------------------------

static bool is_named(const struct job *j, const Muster__SpawnRequest *rq,
                     uint32_t member)
{
    const struct roll_member *m = &j->roll->members[member];
    for (size_t i = 0; i < rq->n_hosts; i++)
        if (strcmp(rq->hosts[i], m->name) == 0 ||
            strcmp(rq->hosts[i], m->hostname) == 0 ||
            strcmp(rq->hosts[i], m->address) == 0)
            return true;
    return rq->n_hosts == 0;
}

static bool is_usable(const struct job *j, const Muster__SpawnRequest *rq,
                      uint32_t member)
{
    bool spare = j->opts->spares > 0 &&
                 job_position(j, group_vertex_of(&j->group, member)) == NULL;
    return j->group.v[member].state == GROUP_ATTACHED && !spare &&
           !j->at->seats[member].leaves && !job_inspect_owes(j, member) &&
           is_named(j, rq, member);
}

// Slots of the members that may be used, without those of ranks that run. Returns their
// sum.
static uint64_t free_slots(const struct job *j, const Muster__SpawnRequest *rq,
                           struct map_member *m)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < j->group.n; i++) {
        m[i].name = j->roll->members[i].name;
        m[i].slots = is_usable(j, rq, i) ? job_slots(j, i) : 0;
    }
    for (uint32_t r = 0; r < j->at->nranks; r++)
        if (!j->at->ranks[r].exited && m[j->at->ranks[r].member].slots > 0)
            m[j->at->ranks[r].member].slots--;
    for (uint32_t i = 0; i < j->group.n; i++)
        sum += m[i].slots;
    return sum;
}

static void tell_crowded(struct job *j, uint32_t ranks, uint64_t slots)
{
    if (j->crowded || j->local)
        return;
    j->crowded = true;
    log_warn(j->conf.log,
             "%u spawned ranks for %llu free slots: the members are oversubscribed "
             "(give them more slots, or start fewer ranks with -n)",
             ranks, (unsigned long long)slots);
}

static int map_world(struct job *j, const Muster__SpawnRequest *rq, struct map *map,
                     struct err *err)
{
    CLEANUP_FREE struct map_member *m = xcalloc(j->group.n, sizeof *m);
    struct map_request want = {.oversubscribe = true};
    bool usable = false;
    uint64_t ranks = 0, slots = free_slots(j, rq, m);
    for (size_t i = 0; i < rq->n_apps; i++)
        ranks += rq->apps[i]->ranks;
    for (uint32_t i = 0; i < j->group.n; i++)
        usable = usable || is_usable(j, rq, i);
    if (!usable || ranks == 0 || ranks > MAP_RANKS_MAX) {
        err_set(err,
                usable ? "it wants %llu ranks"
                       : "the hosts that it names are no members that may have ranks "
                         "(%llu ranks)",
                (unsigned long long)ranks);
        return -1;
    }
    want.ranks = (uint32_t)ranks;
    if (ranks > slots) {
        tell_crowded(j, want.ranks, slots);
        for (uint32_t i = 0; i < j->group.n; i++)
            m[i].slots = !is_usable(j, rq, i)  ? 0
                         : job_slots(j, i) > 0 ? job_slots(j, i)
                                               : 1;
    }
    return map_ranks(m, j->group.n, &want, map, err);
}

// ---- a world's way ------------------------------------------------------------

// Every member with ranks of any world.
static void expect_ready(struct job *j, struct job_world *w)
{
    w->silent = xcalloc(j->group.n, sizeof *w->silent);
    for (uint32_t i = 0; i < j->group.n; i++) {
        w->silent[i] = j->at->seats[i].hosts;
        w->nsilent += w->silent[i] ? 1 : 0;
    }
}

static void prepare(struct job *j, struct job_world *w, const Muster__SpawnRequest *rq)
{
    const struct job_plan plan = {j->roll, &j->group, &w->map, j->opts};
    struct job_plan_spawn world = {
        .request = rq, .nspace = w->nspace, .number = w->number, .first = w->first};
    w->prepare = job_plan_spawn(&plan, &world);
    j->at->worlds =
        xrealloc(j->at->worlds, j->at->nworlds + 1, sizeof(struct job_world *));
    j->at->worlds[j->at->nworlds++] = w;
    job_add_ranks(j, w, &w->map);
    output_add(j->output, w->map.ranks);
    coll_route_add(j->at->route, w->prepare, NULL); // of our own making
    expect_ready(j, w);
    loop_timer_arm(w->bound, BOUND_MS);
    job_send(j, FRAME_PREPARE, TREE_ALL, &w->prepare->base);
}

static void on_bound(evutil_socket_t fd, short what, void *arg);

static struct job_world *world_new(struct job *j, const Muster__SpawnRequest *rq,
                                   const struct asker *asker, const struct map *map)
{
    struct job_world *w = xcalloc(1, sizeof *w);
    w->job = j;
    w->number = (uint32_t)j->at->nworlds + 1;
    w->nspace = xasprintf("%s.%u", j->at->nspace, w->number);
    w->first = j->at->nranks;
    w->map = *map;
    w->plain = rq->non_pmi;
    w->asker = *asker;
    w->bound = loop_timer(j->conf.base, on_bound, w);
    return w;
}

static void spawn(struct job *j, const struct asker *asker,
                  const Muster__SpawnRequest *rq)
{
    ERR_AUTO err = ERR_INIT;
    struct map map;
    if (!job_attempt_lives(j))
        answer(j, asker, "", "the job is being stopped");
    else if (map_world(j, rq, &map, &err) < 0)
        refuse(j, asker, VERDICT_OWN_FAILURE, err_text(&err));
    else
        prepare(j, world_new(j, rq, asker, &map), rq);
}

static uint32_t world_size(const struct job *j, const char *nspace)
{
    for (size_t i = 0; i < j->at->nworlds; i++)
        if (strcmp(nspace, j->at->worlds[i]->nspace) == 0)
            return j->at->worlds[i]->map.ranks;
    return j->map.ranks;
}

void job_spawn_request(struct job *j, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__SpawnRequest *m = msg_unpack(f, &muster__spawn_request__descriptor, &err);
    long parent = m != NULL && m->parent != NULL
                      ? job_rank_number(j, m->parent->nspace, m->parent->rank)
                      : -1;
    if (parent < 0) {
        log_warn(j->conf.log, "dropped a spawn request: %s", err_text(&err));
    } else {
        bool alone = world_size(j, m->parent->nspace) == 1;
        struct asker asker = {.rank = job_rank_text(j, (uint32_t)parent),
                              .vertex = f->src,
                              .id = m->id,
                              .strands = m->strands_peers && !alone};
        spawn(j, &asker, m);
    }
    msg_free(m);
}

static struct job_world *find(const struct job *j, uint32_t number)
{
    return number > 0 && number <= j->at->nworlds ? j->at->worlds[number - 1] : NULL;
}

void job_spawn_resend(struct job *j, uint32_t vertex)
{
    for (size_t i = 0; i < j->at->nworlds; i++)
        job_send(j, FRAME_PREPARE, vertex, &j->at->worlds[i]->prepare->base);
}

void job_spawn_ready(struct job *j, uint32_t vertex, const Muster__Ready *m)
{
    struct job_world *w = find(j, m->world);
    uint32_t member = group_member_of(&j->group, vertex);
    if (w == NULL || w->state != WORLD_PREPARING || !w->silent[member])
        return;
    w->silent[member] = false;
    if (m->master_port != 0)
        w->master_port = m->master_port;
    if (--w->nsilent > 0)
        return;
    happen(w, WORLD_EV_READY);
    Muster__Go go = MUSTER__GO__INIT;
    go.master_address = w->prepare->positions[0]->address;
    go.master_port = w->master_port;
    go.world = w->number;
    loop_timer_arm(w->bound, BOUND_MS);
    job_send(j, FRAME_GO, TREE_ALL, &go.base);
}

void job_spawn_started(struct job *j, const struct job_world *world)
{
    struct job_world *w = find(j, world->number);
    if (w == NULL || ++w->started < w->map.ranks || !happen(w, WORLD_EV_STARTED))
        return;
    loop_timer_disarm(w->bound);
    events_write(j->conf.events, "spawned",
                 jsonpack("{s:i, s:s, s:i, s:i}", "world", (int)w->number, "nspace",
                          w->nspace, "first", (int)w->first, "ranks",
                          (int)w->map.ranks));
    answer(j, &w->asker, w->nspace, "");
}

void job_spawn_failed(struct job *j, uint32_t number, int code, const char *why)
{
    struct job_world *w = find(j, number);
    if (w == NULL || !happen(w, WORLD_EV_FAILED))
        return;
    loop_timer_disarm(w->bound);
    refuse(j, &w->asker, code, why);
    for (uint32_t r = 0; r < w->map.ranks; r++)
        job_rank_gone(j, w->first + r, why);
}

// "train-2 (10.0.0.5) and 3 more": who has not said READY.
static char *silent_members(const struct job_world *w)
{
    BUF_AUTO text = BUF_INIT;
    unsigned shown = 0;
    for (uint32_t i = 0; i < w->job->group.n && shown < SILENT_SHOWN; i++) {
        if (!w->silent[i])
            continue;
        CLEANUP_FREE char *name = group_member_text(&w->job->group.v[i]);
        buf_printf(&text, "%s%s", shown++ > 0 ? ", " : "", name);
    }
    if (w->nsilent > shown)
        buf_printf(&text, " and %u more", w->nsilent - shown);
    return buf_steal_str(&text);
}

static void on_bound(evutil_socket_t fd, short what, void *arg)
{
    struct job_world *w = arg;
    if (!job_attempt_lives(w->job)) // its world went with its attempt
        return;
    if (w->state == WORLD_STARTING) {
        job_fail(w->job, VERDICT_LOSS, VERDICT_OWN_FAILURE,
                 "%u of %u ranks of spawned world %u were not started within %d s",
                 w->map.ranks - w->started, w->map.ranks, w->number, BOUND_MS / 1000);
        return;
    }
    CLEANUP_FREE char *who = silent_members(w);
    CLEANUP_FREE char *why =
        xasprintf("not prepared within %d s by %s; look at the musterd there",
                  BOUND_MS / 1000, who);
    job_spawn_failed(w->job, w->number, VERDICT_OWN_FAILURE, why);
}
