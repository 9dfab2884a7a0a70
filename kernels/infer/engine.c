// Orders in, a stage's work, results out.
#include "kernels/infer/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/mem.h"
#include "kernels/comm/nccl.h"
#include "kernels/infer/forward.h"
#include "kernels/infer/kvcache.h"
#include "kernels/infer/pulls.h"
#include "kernels/infer/sampler.h"

enum { TAG_ORDER = 100, TAG_X, TAG_TOKENS, TAG_HELD }; // below 110: pulls.c
enum order_kind { ORDER_STEP = 1, ORDER_END, ORDER_HOLD, ORDER_FETCH, ORDER_DROP };

// An order as it is sent: this, then for a step its parts and rows, for FETCH the sources.
struct order {
    uint32_t kind, nparts, nrows; // nparts: sources, nrows: positions
    uint32_t slot;
    uint64_t hold;
    char model[KVWIRE_MODEL]; // FETCH
};

struct engine {
    struct comm *world, *stage; // stage: owned
    struct comm *nccl;          // the stage's, for what lies on GPUs; NULL: none; owned
    const struct compute *compute;
    struct shard shard;
    uint32_t slots, rows;
    int *ranks; // world ranks: [stage][tensor-parallel rank]
    struct kvcache *kv;
    struct forward *forward;
    struct sampler *sampler;
    struct kvserve *kvserve; // prefill; borrowed
    struct pulls *pulls;
    uint8_t *message; // of an order
    size_t message_max;
    // The leader: how many tokens each step under way gives, the oldest first; and of the
    // newest the tokens, where its own stage is the last.
    uint32_t expected[SCHED_DEPTH_MAX];
    uint32_t nexpected;
    int32_t *sampled;
};

// ---- making -----------------------------------------------------------------------

static int *rank_at(const struct engine *e, int pp, int tp)
{
    return &e->ranks[(size_t)pp * (size_t)e->shard.place.tp_size + (size_t)tp];
}

static void find_ranks(struct engine *e)
{
    const struct place *own = &e->shard.place;
    int size = comm_size(e->world), mine[2] = {own->pp, own->tp};
    CLEANUP_FREE int *all = xcalloc((size_t)size, sizeof mine);
    e->ranks = xcalloc((size_t)size, sizeof *e->ranks);
    comm_allgather(e->world, all, mine, sizeof mine);
    for (int rank = 0; rank < size; rank++)
        *rank_at(e, all[2 * (size_t)rank], all[2 * (size_t)rank + 1]) = rank;
}

struct engine *engine_create(struct comm *world, const struct gpu_way *way,
                             struct event_base *base, const struct compute *compute,
                             const struct shard *shard, uint32_t slots, uint32_t rows)
{
    struct engine *e = xcalloc(1, sizeof *e);
    *e = (struct engine){.world = world,
                         .compute = compute,
                         .shard = *shard,
                         .slots = slots,
                         .rows = rows};
    find_ranks(e);
    e->stage = comm_split(world, shard->place.pp, shard->place.tp);
    if (way->nccl && shard->place.tp_size > 1)
        e->nccl = comm_nccl(e->stage, &way->lib, COMM_NCCL_INIT_MS);
    e->kv = kvcache_create(compute, &e->shard, slots);
    e->forward = forward_create(compute, &e->shard,
                                e->nccl != NULL ? e->nccl : e->stage, e->kv, rows);
    e->pulls = pulls_create(world, base, &e->shard, e->kv, slots);
    e->sampler = sampler_create(compute_cpu(), (size_t)shard->config.vocab);
    size_t step = slots * sizeof(struct sched_part) + rows * sizeof(int32_t);
    size_t sources = KVWIRE_SOURCES_MAX * sizeof(struct kvwire_source);
    e->message_max = sizeof(struct order) + (step > sources ? step : sources);
    e->message = xcalloc(1, e->message_max);
    e->sampled = xcalloc(slots, sizeof *e->sampled);
    return e;
}

void engine_destroy(struct engine *e)
{
    if (e == NULL)
        return;
    pulls_destroy(e->pulls);
    forward_destroy(e->forward);
    kvcache_destroy(e->kv);
    sampler_destroy(e->sampler);
    comm_destroy(e->nccl);
    comm_destroy(e->stage);
    free(e->ranks);
    free(e->message);
    free(e->sampled);
    free(e);
}

// ---- a step on this rank ----------------------------------------------------------

// The token of each part that samples.
static uint32_t sample(struct engine *e, const struct sched_step *step)
{
    size_t n, vocab = (size_t)e->shard.config.vocab;
    float *logits = forward_logits(e->forward, step, &n);
    if (e->shard.place.tp != 0)
        return 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < step->nparts; i++) {
        const struct sched_part *p = &step->parts[i];
        if (!p->sample)
            continue;
        e->sampled[at] =
            sampler_pick(e->sampler, logits + at * vocab, &p->how, p->pos + p->n - 1);
        at++;
    }
    return at;
}

static uint32_t samples_of(const struct sched_step *step)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < step->nparts; i++)
        n += step->parts[i].sample;
    return n;
}

static void work(struct engine *e, const struct sched_step *step)
{
    const struct place *own = &e->shard.place;
    size_t bytes = step->nrows * (size_t)e->shard.config.dim * sizeof(float);
    if (shard_is_first(&e->shard)) {
        forward_embed(e->forward, step);
    } else {
        comm_recv(e->world, forward_x(e->forward), bytes,
                  *rank_at(e, own->pp - 1, own->tp), TAG_X);
        forward_x_came(e->forward, step->nrows);
    }
    forward_layers(e->forward, step);
    if (!shard_is_last(&e->shard)) {
        forward_x_goes(e->forward, step->nrows);
        comm_send(e->world, forward_x(e->forward), bytes,
                  *rank_at(e, own->pp + 1, own->tp), TAG_X);
        return;
    }
    if (samples_of(step) == 0)
        return;
    uint32_t n = sample(e, step);
    if (own->tp == 0 && own->pp > 0)
        comm_post(e->world, e->sampled, n * sizeof *e->sampled, 0, TAG_TOKENS);
}

// ---- the leader -------------------------------------------------------------------

static void tell_all(struct engine *e, size_t bytes)
{
    for (int rank = 1; rank < comm_size(e->world); rank++)
        comm_post(e->world, e->message, bytes, rank, TAG_ORDER);
}

static size_t put_order(struct engine *e, const struct sched_step *step)
{
    const struct order o = {
        .kind = ORDER_STEP, .nparts = step->nparts, .nrows = step->nrows};
    size_t parts = step->nparts * sizeof *step->parts;
    size_t rows = step->nrows * sizeof *step->rows;
    memcpy(e->message, &o, sizeof o);
    memcpy(e->message + sizeof o, step->parts, parts);
    memcpy(e->message + sizeof o + parts, step->rows, rows);
    return sizeof o + parts + rows;
}

void engine_launch(struct engine *e, const struct sched_step *step)
{
    tell_all(e, put_order(e, step));
    e->expected[e->nexpected++] = samples_of(step);
    work(e, step);
}

void engine_collect(struct engine *e, int32_t *tokens)
{
    const struct place *own = &e->shard.place;
    size_t bytes = e->expected[0] * sizeof *tokens;
    e->nexpected--;
    memmove(e->expected, e->expected + 1, e->nexpected * sizeof *e->expected);
    if (bytes == 0)
        return;
    if (own->pp_size == 1)
        memcpy(tokens, e->sampled, bytes);
    else
        comm_recv(e->world, tokens, bytes, *rank_at(e, own->pp_size - 1, 0),
                  TAG_TOKENS);
}

void engine_end(struct engine *e)
{
    const struct order o = {.kind = ORDER_END};
    memcpy(e->message, &o, sizeof o);
    tell_all(e, sizeof o);
    pulls_end(e->pulls);
}

// ---- positions from rank to rank --------------------------------------------------

static void hold(struct engine *e, const struct order *o)
{
    if (e->kvserve != NULL)
        kvserve_hold(e->kvserve, o->slot, o->hold, o->nrows);
}

// A pull can come at once: each rank has to know of the hold before anybody else does.
void engine_hold(struct engine *e, uint32_t slot, uint64_t number, uint32_t n)
{
    const struct order o = {
        .kind = ORDER_HOLD, .slot = slot, .hold = number, .nrows = n};
    memcpy(e->message, &o, sizeof o);
    tell_all(e, sizeof o);
    hold(e, &o);
    for (int rank = 1; rank < comm_size(e->world); rank++) {
        uint32_t held;
        comm_recv(e->world, &held, sizeof held, rank, TAG_HELD);
    }
}

void engine_fetch(struct engine *e, const struct kvpull_what *what)
{
    struct order o = {.kind = ORDER_FETCH,
                      .nparts = what->nsources,
                      .nrows = what->n,
                      .slot = what->slot,
                      .hold = what->hold};
    size_t sources = what->nsources * sizeof *what->sources;
    memcpy(o.model, what->model, sizeof o.model);
    memcpy(e->message, &o, sizeof o);
    memcpy(e->message + sizeof o, what->sources, sources);
    tell_all(e, sizeof o + sources);
    pulls_begin(e->pulls, what);
}

// A pull that is over on a rank by now is not touched, nor is a later one: the order comes before
// that one's, which the leader gives when all parts of this one are over.
void engine_fetch_drop(struct engine *e, uint32_t slot)
{
    const struct order o = {.kind = ORDER_DROP, .slot = slot};
    memcpy(e->message, &o, sizeof o);
    tell_all(e, sizeof o);
    pulls_drop(e->pulls, slot);
}

bool engine_fetched(struct engine *e, uint32_t *slot, struct err *err)
{
    return pulls_next(e->pulls, slot, err);
}

struct kvcache *engine_kvcache(struct engine *e)
{
    return e->kv;
}

void engine_set_kvserve(struct engine *e, struct kvserve *k)
{
    e->kvserve = k;
}

// ---- the others -------------------------------------------------------------------

// MPI's receive spins. Between requests nobody needs this core: look for an order at once, then
// ever more seldom.
static void wait_for_order(struct engine *e, void (*look)(void *arg), void *arg)
{
    enum { AT_ONCE = 1000, MOST_US = 2000 };
    for (long tries = 0;; tries++) {
        long us = tries < AT_ONCE ? 0 : tries - AT_ONCE;
        if (look != NULL)
            look(arg);
        if (comm_ready(e->world, 0, TAG_ORDER))
            return;
        nanosleep(&(struct timespec){.tv_nsec = (us < MOST_US ? us : MOST_US) * 1000},
                  NULL);
    }
}

static void do_step(struct engine *e, const struct order *o, struct sched_step *step)
{
    size_t bytes = o->nparts * sizeof *step->parts;
    step->nparts = o->nparts;
    step->nrows = o->nrows;
    memcpy(step->parts, e->message + sizeof *o, bytes);
    memcpy(step->rows, e->message + sizeof *o + bytes, o->nrows * sizeof *step->rows);
    work(e, step);
}

static void do_hold(struct engine *e, const struct order *o)
{
    hold(e, o);
    comm_send(e->world, &o->slot, sizeof o->slot, 0, TAG_HELD);
}

static void do_fetch(struct engine *e, const struct order *o)
{
    CLEANUP_FREE struct kvwire_source *sources =
        xmemdup(e->message + sizeof *o, o->nparts * sizeof *sources);
    const struct kvpull_what what = {.model = o->model,
                                     .hold = o->hold,
                                     .n = o->nrows,
                                     .slot = o->slot,
                                     .sources = sources,
                                     .nsources = o->nparts};
    pulls_begin(e->pulls, &what);
}

void engine_follow(struct engine *e, void (*look)(void *arg), void *arg)
{
    CLEANUP_FREE struct sched_part *parts = xcalloc(e->slots, sizeof *parts);
    CLEANUP_FREE int32_t *rows = xcalloc(e->rows, sizeof *rows);
    struct sched_step step = {.parts = parts, .rows = rows};
    for (;;) {
        struct order o;
        wait_for_order(e, look, arg);
        comm_recv(e->world, e->message, e->message_max, 0, TAG_ORDER);
        memcpy(&o, e->message, sizeof o);
        switch (o.kind) {
        case ORDER_STEP: do_step(e, &o, &step); break;
        case ORDER_HOLD: do_hold(e, &o); break;
        case ORDER_FETCH: do_fetch(e, &o); break;
        case ORDER_DROP: pulls_drop(e->pulls, o.slot); break;
        default: pulls_end(e->pulls); return;
        }
    }
}
