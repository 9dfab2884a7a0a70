// Worlds that ranks start: mapped here, prepared and started as the first one is.
//
//   SPAWN_REQUEST up --> map --> PREPARE down --> READY up from every member that hosts
//   ranks --> GO down --> STARTED up --> SPAWN_DONE to whoever asked
// Every such member has to be ready, with ranks of the new world or without: parents and
// children ask its PMIx server about each other. Where the world cannot be prepared, the
// asker gets an error and the job goes on; once GO was sent, a failure is the job's.
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "launcher/job_internal.h"
#include "launcher/job_plan.h"
#include "wire/msg.h"

enum world_state {
    WORLD_PREPARING,
    WORLD_STARTING, // GO was sent
    WORLD_RUNNING,  // SPAWN_DONE was sent
    WORLD_FAILED,   // the same, with an error
};

struct job_world {
    enum world_state state;
    char *nspace;
    uint32_t number, first;
    struct map map;
    Muster__Prepare *prepare;
    bool plain;
    uint32_t missing; // members that are not ready yet
    uint32_t started; // ranks
    uint32_t master_port;
    uint32_t asker; // vertex
    uint64_t id;    // of its request
};

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
    if (strcmp(nspace, j->nspace) == 0)
        return rank < j->map.ranks ? (long)rank : -1;
    for (size_t i = 0; i < j->nworlds; i++) {
        const struct job_world *w = j->worlds[i];
        if (strcmp(nspace, w->nspace) == 0 && rank < w->map.ranks)
            return (long)w->first + rank;
    }
    return -1;
}

static void world_free(struct job_world *w)
{
    free(w->nspace);
    map_free(&w->map);
    msg_free(w->prepare);
    free(w);
}

void job_spawn_end(struct job *j)
{
    for (size_t i = 0; i < j->nworlds; i++)
        world_free(j->worlds[i]);
    free(j->worlds);
}

// ---- answers ------------------------------------------------------------------

static void answer(struct job *j, uint32_t vertex, uint64_t id, const char *nspace,
                   const char *error)
{
    CLEANUP_FREE char *n = xstrdup(nspace), *e = xstrdup(error);
    Muster__SpawnDone m = MUSTER__SPAWN_DONE__INIT;
    m.id = id;
    m.nspace = n;
    m.error = e;
    job_send(j, FRAME_SPAWN_DONE, vertex, &m.base);
}

static void refuse(struct job *j, uint32_t vertex, uint64_t id, const char *why)
{
    log_warn(j->conf.log, "a rank cannot spawn: %s", why);
    events_write(j->conf.events, "spawn_failed", json_pack("{s:s}", "why", why));
    answer(j, vertex, id, "", why);
}

// ---- mapping ------------------------------------------------------------------

static uint32_t slots_of(const struct job *j, uint32_t member)
{
    int slots = j->group.v[member].member->slots;
    return slots >= 0 ? (uint32_t)slots : j->roll->members[member].cpus;
}

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

// Slots of the members that may be used, without those of ranks that run. Returns their
// sum.
static uint64_t free_slots(const struct job *j, const Muster__SpawnRequest *rq,
                           struct map_member *m)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < j->group.n; i++) {
        m[i].name = j->roll->members[i].name;
        m[i].slots = is_named(j, rq, i) ? slots_of(j, i) : 0;
    }
    for (uint32_t r = 0; r < j->nranks; r++)
        if (!j->ranks[r].exited && m[j->ranks[r].member].slots > 0)
            m[j->ranks[r].member].slots--;
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
        usable = usable || is_named(j, rq, i);
    if (!usable || ranks == 0 || ranks > MAP_RANKS_MAX) {
        err_set(err,
                usable ? "it wants %llu ranks"
                       : "the hosts that it names are no members (%llu ranks)",
                (unsigned long long)ranks);
        return -1;
    }
    want.ranks = (uint32_t)ranks;
    if (ranks > slots) {
        tell_crowded(j, want.ranks, slots);
        for (uint32_t i = 0; i < j->group.n; i++)
            m[i].slots = !is_named(j, rq, i)  ? 0
                         : slots_of(j, i) > 0 ? slots_of(j, i)
                                              : 1;
    }
    return map_ranks(m, j->group.n, &want, map, err);
}

// ---- a world's way ------------------------------------------------------------

static void prepare(struct job *j, struct job_world *w, const Muster__SpawnRequest *rq)
{
    struct job_plan_spawn plan = {
        .request = rq, .nspace = w->nspace, .number = w->number, .first = w->first};
    w->prepare = job_plan_spawn(j->roll, &w->map, j->opts, &plan);
    j->worlds = xrealloc(j->worlds, j->nworlds + 1, sizeof(struct job_world *));
    j->worlds[j->nworlds++] = w;
    job_add_ranks(j, w, &w->map);
    output_add(j->output, w->map.ranks);
    coll_route_add(j->route, w->prepare, NULL); // of our own making
    w->missing = j->hosts;
    job_send(j, FRAME_PREPARE, TREE_ALL, &w->prepare->base);
}

static struct job_world *world_new(const struct job *j, const Muster__SpawnRequest *rq,
                                   uint32_t asker, const struct map *map)
{
    struct job_world *w = xcalloc(1, sizeof *w);
    w->number = (uint32_t)j->nworlds + 1;
    w->nspace = xasprintf("%s.%u", j->nspace, w->number);
    w->first = j->nranks;
    w->map = *map;
    w->plain = rq->non_pmi;
    w->asker = asker;
    w->id = rq->id;
    return w;
}

static void spawn(struct job *j, uint32_t asker, const Muster__SpawnRequest *rq)
{
    ERR_AUTO err = ERR_INIT;
    struct map map;
    if (j->state > JOB_RUN)
        answer(j, asker, rq->id, "", "the job is being stopped");
    else if (map_world(j, rq, &map, &err) < 0)
        refuse(j, asker, rq->id, err_text(&err));
    else
        prepare(j, world_new(j, rq, asker, &map), rq);
}

void job_spawn_request(struct job *j, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__SpawnRequest *m = msg_unpack(f, &muster__spawn_request__descriptor, &err);
    if (m == NULL || m->parent == NULL)
        log_warn(j->conf.log, "dropped a spawn request: %s", err_text(&err));
    else
        spawn(j, f->src, m);
    msg_free(m);
}

static struct job_world *find(const struct job *j, uint32_t number)
{
    return number > 0 && number <= j->nworlds ? j->worlds[number - 1] : NULL;
}

void job_spawn_ready(struct job *j, const Muster__Ready *m)
{
    struct job_world *w = find(j, m->world);
    if (w == NULL || w->state != WORLD_PREPARING)
        return;
    if (m->master_port != 0)
        w->master_port = m->master_port;
    if (--w->missing > 0)
        return;
    w->state = WORLD_STARTING;
    Muster__Go go = MUSTER__GO__INIT;
    go.master_address = w->prepare->positions[0]->address;
    go.master_port = w->master_port;
    go.world = w->number;
    job_send(j, FRAME_GO, TREE_ALL, &go.base);
}

void job_spawn_started(struct job *j, const struct job_world *world)
{
    struct job_world *w = find(j, world->number);
    if (w == NULL || ++w->started < w->map.ranks)
        return;
    w->state = WORLD_RUNNING;
    events_write(j->conf.events, "spawned",
                 json_pack("{s:i, s:s, s:i, s:i}", "world", (int)w->number, "nspace",
                           w->nspace, "first", (int)w->first, "ranks",
                           (int)w->map.ranks));
    answer(j, w->asker, w->id, w->nspace, "");
}

void job_spawn_failed(struct job *j, uint32_t number, const char *why)
{
    struct job_world *w = find(j, number);
    if (w == NULL || w->state != WORLD_PREPARING)
        return;
    w->state = WORLD_FAILED;
    refuse(j, w->asker, w->id, why);
    for (uint32_t r = 0; r < w->map.ranks; r++)
        job_rank_gone(j, w->first + r, why);
}
