// What a rank holds of each unit, and how it gets the rest.
//
// What lasts is where ranks can exchange it: `here`. That is the network's own memory, a GPU's with
// NCCL, or else the host's; then a GPU has copies of what is in use: the parameters of each unit, or
// of one a kind under zero 3, and a sample's gradient of one a kind.
#include "kernels/train/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/model/mix.h"

// What this rank holds of a unit: ranges [at, at + n) of it.
struct held {
    struct unit_slice value, sum, moments;
    float *param, *m, *v;
    int64_t *fixed;
    float *there; // the network's copy; NULL: param is the network's, or zero 3
    bool stale;   // it is not what param is
};

// One a kind of unit: outer and layer.
struct work {
    float *gathered; // zero 3: the unit in use
    float *there;    // zero 3: it, for the network
    float *grad;     // where the network puts it
    float *got;      // where it is added up from
};

struct params {
    const struct units *units;
    const struct compute *here;  // of what lasts
    const struct compute *there; // the network's; may be the same
    struct comm *comm;           // whose pointers are here's
    int zero;
    size_t rank, ranks;
    struct held *held; // a unit
    struct work outer, layer;
    int64_t *whole; // zero 2 and 3: a sample's gradient before it is scattered,
    int64_t *part;  // and this rank's shard of all ranks' sum
    float *mean;    // of the largest range of sums
    double *squares;
    float *seen;  // what is shown to the host, where here is a GPU's
    double *told; // all ranks' squares, for the host
};

static struct work *work_of(struct params *p, size_t unit)
{
    return unit == 0 ? &p->outer : &p->layer;
}

static const struct unit *unit_of(const struct params *p, size_t unit)
{
    return units_get(p->units, unit);
}

static size_t shard_of(const struct params *p, size_t unit)
{
    return unit_shard(unit_of(p, unit), p->ranks);
}

static size_t padded(const struct params *p, size_t unit)
{
    return shard_of(p, unit) * p->ranks;
}

// ---- lifetime ---------------------------------------------------------------------

static struct unit_slice range(const struct params *p, size_t unit, bool sharded)
{
    size_t shard = shard_of(p, unit);
    return sharded ? (struct unit_slice){p->rank * shard, shard}
                   : (struct unit_slice){0, shard * p->ranks};
}

static void hold(struct params *p, size_t unit)
{
    const struct compute *c = p->here;
    struct held *h = &p->held[unit];
    h->value = range(p, unit, p->zero >= 3);
    h->sum = range(p, unit, p->zero >= 2);
    h->moments = range(p, unit, p->zero >= 1);
    h->param = c->alloc(h->value.n * sizeof *h->param);
    h->fixed = c->alloc(h->sum.n * sizeof *h->fixed);
    h->m = c->alloc(h->moments.n * sizeof *h->m);
    h->v = c->alloc(h->moments.n * sizeof *h->v);
    h->stale = true;
    if (c != p->there && p->zero < 3)
        h->there = p->there->alloc(h->value.n * sizeof *h->there);
}

static void prepare(struct params *p, struct work *w, size_t unit)
{
    size_t bytes = padded(p, unit) * sizeof(float);
    w->grad = p->there->alloc(bytes);
    w->got = p->here == p->there ? w->grad : p->here->alloc(bytes);
    if (p->zero < 3)
        return;
    w->gathered = p->here->alloc(bytes);
    w->there = p->here == p->there ? w->gathered : p->there->alloc(bytes);
}

static void give_work(struct params *p, struct work *w)
{
    if (p->here != p->there) {
        p->there->free(w->there);
        p->here->free(w->got);
    }
    p->there->free(w->grad);
    p->here->free(w->gathered);
}

static size_t largest(const struct params *p)
{
    size_t outer = padded(p, 0), layer = padded(p, 1);
    return outer > layer ? outer : layer;
}

struct params *params_create(const struct units *units, const struct compute *compute,
                             struct comm *comm, int zero)
{
    struct params *p = xcalloc(1, sizeof *p);
    bool direct = compute->host || comm_on_gpu(comm);
    *p = (struct params){.units = units,
                         .here = direct ? compute : compute_cpu(),
                         .there = compute,
                         .comm = comm,
                         .zero = zero,
                         .rank = (size_t)comm_rank(comm),
                         .ranks = (size_t)comm_size(comm)};
    p->held = xcalloc(units->n, sizeof *p->held);
    for (size_t u = 0; u < units->n; u++)
        hold(p, u);
    prepare(p, &p->outer, 0);
    prepare(p, &p->layer, 1);
    if (zero >= 2) {
        p->whole = p->here->alloc(largest(p) * sizeof *p->whole);
        p->part = p->here->alloc(largest(p) / p->ranks * sizeof *p->part);
    }
    p->mean = p->here->alloc(largest(p) * sizeof *p->mean);
    p->squares = p->here->alloc(largest(p) / UNIT_BLOCK * sizeof *p->squares);
    p->told = xcalloc(largest(p) / UNIT_BLOCK, sizeof *p->told);
    if (!p->here->host)
        p->seen = xcalloc(largest(p), sizeof *p->seen);
    return p;
}

void params_destroy(struct params *p)
{
    if (p == NULL)
        return;
    void (*give)(void *) = p->here->free;
    for (size_t u = 0; u < p->units->n; u++) {
        struct held *h = &p->held[u];
        give(h->param);
        give(h->fixed);
        give(h->m);
        give(h->v);
        p->there->free(h->there);
    }
    give_work(p, &p->outer);
    give_work(p, &p->layer);
    give(p->whole);
    give(p->part);
    give(p->mean);
    give(p->squares);
    free(p->seen);
    free(p->told);
    free(p->held);
    free(p);
}

// ---- the first values -------------------------------------------------------------

// Uniform with this standard deviation: no function of math.h is in it.
static float spread(uint64_t seed, size_t unit, size_t i, float deviation)
{
    uint64_t x = mix(mix(seed ^ mix(unit)) + i);
    float unit_interval = (float)(x >> 40) * 0x1p-24F - 0.5F;
    return unit_interval * 3.4641016F * deviation;
}

static float first_value(const struct params *p, size_t unit, size_t i, uint64_t seed)
{
    const struct unit *u = unit_of(p, unit);
    if (i >= u->count)
        return 0;
    if (i >= u->decayed)
        return 1;
    float layers = (float)p->units->config.layers;
    // What ends in the residual stream is smaller, the more layers add to it.
    bool ends = unit > 0 && ((i >= u->at[MODEL_WO] && i < u->at[MODEL_W1]) ||
                             (i >= u->at[MODEL_W2] && i < u->at[MODEL_W3]));
    return spread(seed, unit, i, ends ? 0.02F / sqrtf(2 * layers) : 0.02F);
}

void params_init(struct params *p, uint64_t seed)
{
    CLEANUP_FREE float *values = xcalloc(largest(p), sizeof *values);
    for (size_t u = 0; u < p->units->n; u++) {
        struct held *h = &p->held[u];
        for (size_t i = 0; i < h->value.n; i++)
            values[i] = first_value(p, u, h->value.at + i, seed);
        p->here->put(h->param, values, h->value.n * sizeof *values);
        h->stale = true;
    }
}

// n floats of here's, for the host; until the next call.
static const float *show(const struct params *p, const float *from, size_t n)
{
    if (p->here->host)
        return from;
    p->here->get(p->seen, from, n * sizeof *from);
    return p->seen;
}

// ---- a sample ---------------------------------------------------------------------

// The whole unit, here.
static const float *gather(struct params *p, size_t unit)
{
    struct held *h = &p->held[unit];
    if (p->zero < 3)
        return h->param;
    float *all = work_of(p, unit)->gathered;
    comm_allgather(p->comm, all, h->param, h->value.n * sizeof *all);
    return all;
}

const float *params_values(struct params *p, size_t unit)
{
    return show(p, gather(p, unit), padded(p, unit));
}

const float *params_get(struct params *p, size_t unit)
{
    const float *values = gather(p, unit);
    struct held *h = &p->held[unit];
    if (p->here == p->there)
        return values;
    float *to = p->zero < 3 ? h->there : work_of(p, unit)->there;
    if (p->zero >= 3 || h->stale)
        p->there->put(to, values, padded(p, unit) * sizeof *to);
    h->stale = false;
    return to;
}

float *params_grad(struct params *p, size_t unit)
{
    float *grad = work_of(p, unit)->grad;
    p->there->zero(grad, padded(p, unit) * sizeof *grad);
    return grad;
}

static int add_fixed(struct params *p, size_t unit, int64_t *sum, struct err *err)
{
    const struct work *w = work_of(p, unit);
    size_t n = unit_of(p, unit)->count;
    if (w->got != w->grad)
        p->there->get(w->got, w->grad, n * sizeof *w->got);
    if (p->here->fixed_add(sum, w->got, n))
        return 0;
    err_set(
        err,
        "a gradient of %s is %d or more, or no number: the training diverges; give a "
        "smaller --lr",
        unit == 0 ? "the embedding" : "a layer", COMPUTE_FIXED_MAX);
    return -1;
}

int params_add(struct params *p, size_t unit, bool counts, struct err *err)
{
    struct held *h = &p->held[unit];
    if (p->zero < 2)
        return counts ? add_fixed(p, unit, h->fixed, err) : 0;
    size_t n = padded(p, unit);
    p->here->zero(p->whole, n * sizeof *p->whole);
    int rc = counts ? add_fixed(p, unit, p->whole, err) : 0;
    comm_reduce_scatter_i64(p->comm, p->part, p->whole, h->sum.n);
    p->here->add_i64(h->fixed, p->part, h->sum.n);
    return rc;
}

// ---- the step ---------------------------------------------------------------------

// The mean gradient of what this rank holds of the sums, as floats.
static void mean_of(struct params *p, size_t unit, double samples)
{
    struct held *h = &p->held[unit];
    double scale = 1.0 / (double)(INT64_C(1) << COMPUTE_FIXED_BITS) / samples;
    p->here->fixed_scale(p->mean, h->fixed, scale, h->sum.n);
}

// The sum of squares of a unit's gradient, which is in p->mean: each rank adds up the blocks of
// its shard, and all of them add all blocks in their order.
static double squares_of(struct params *p, size_t unit)
{
    size_t shard = shard_of(p, unit), blocks = shard / UNIT_BLOCK;
    const float *g = p->mean + (p->rank * shard - p->held[unit].sum.at);
    double *own = p->squares + p->rank * blocks, total = 0;
    p->here->squares(own, g, blocks, UNIT_BLOCK);
    comm_allgather(p->comm, p->squares, own, blocks * sizeof *own);
    p->here->get(p->told, p->squares, blocks * p->ranks * sizeof *own);
    for (size_t b = 0; b < blocks * p->ranks; b++)
        total += p->told[b];
    return total;
}

// AdamW on [at, at + n) of the unit, as far as the moments here go.
static void update(struct params *p, size_t unit, struct unit_slice part, float scale,
                   const struct compute_adamw *how)
{
    struct held *h = &p->held[unit];
    size_t from = part.at > h->moments.at ? part.at : h->moments.at;
    size_t to = part.at + part.n, end = h->moments.at + h->moments.n;
    if (to > end)
        to = end;
    if (from >= to)
        return;
    p->here->adamw(h->param + (from - h->value.at), h->m + (from - h->moments.at),
                   h->v + (from - h->moments.at), p->mean + (from - h->sum.at), scale,
                   to - from, how);
}

static void update_unit(struct params *p, size_t unit, float scale,
                        const struct params_step *how)
{
    const struct unit *u = unit_of(p, unit);
    struct held *h = &p->held[unit];
    struct compute_adamw plain = how->adamw;
    plain.decay = 0;
    mean_of(p, unit, how->samples);
    update(p, unit, (struct unit_slice){0, u->decayed}, scale, &how->adamw);
    update(p, unit, (struct unit_slice){u->decayed, u->count - u->decayed}, scale,
           &plain);
    p->here->zero(h->fixed, h->sum.n * sizeof *h->fixed);
    h->stale = true;
    if (p->zero == 1 || p->zero == 2)
        comm_allgather(p->comm, h->param, h->param + h->moments.at,
                       h->moments.n * sizeof *h->param);
}

double params_step(struct params *p, const struct params_step *how)
{
    double squares = 0;
    for (size_t u = 0; u < p->units->n; u++) {
        struct held *h = &p->held[u];
        if (p->zero < 2)
            comm_allreduce_i64(p->comm, h->fixed, h->sum.n);
        mean_of(p, u, how->samples);
        squares += squares_of(p, u);
    }
    double norm = sqrt(squares);
    double scale = how->clip > 0 && norm > how->clip ? how->clip / norm : 1;
    for (size_t u = 0; u < p->units->n; u++)
        update_unit(p, u, (float)scale, how);
    return norm;
}

// ---- checkpoints ------------------------------------------------------------------

static float *place(const struct params *p, size_t unit, enum params_kind kind,
                    struct unit_slice *range_of_it)
{
    const struct held *h = &p->held[unit];
    *range_of_it = kind == PARAMS_VALUE ? h->value : h->moments;
    switch (kind) {
    case PARAMS_VALUE: return h->param;
    case PARAMS_M: return h->m;
    default: return h->v;
    }
}

const float *params_slice(const struct params *p, size_t unit, enum params_kind kind)
{
    struct unit_slice held;
    const float *at = place(p, unit, kind, &held);
    size_t shard = shard_of(p, unit);
    return show(p, at + (p->rank * shard - held.at), shard);
}

void params_put(struct params *p, size_t unit, enum params_kind kind, size_t at,
                const float *from, size_t n)
{
    struct unit_slice held;
    float *to = place(p, unit, kind, &held);
    size_t first = at > held.at ? at : held.at, end = at + n;
    if (end > held.at + held.n)
        end = held.at + held.n;
    if (first < end)
        p->here->put(to + (first - held.at), from + (first - at),
                     (end - first) * sizeof *to);
    p->held[unit].stale = true;
}
