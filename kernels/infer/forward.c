// Matrices over all rows at once, attention part by part.
#include "kernels/infer/forward.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/infer/weights.h"
#include "kernels/model/rope.h"

struct forward {
    const struct compute *c;
    const struct compute *near; // of the memory that the stage's ranks exchange
    const struct shard *s;
    struct comm *stage;
    struct kvcache *kv;
    struct weights *weights;
    float *x, *norm;     // [rows][dim]
    float *q, *k, *v;    // own heads
    float *part, *other; // own outputs of a matrix
    float *mixed;        // own outputs of attention, and of SwiGLU
    float *whole;        // all outputs, row after row
    float *probs, *rinv, *rope_table;

    float *gathered; // near: all ranks' outputs, rank after rank

    // In the host's memory, for other ranks and the sampler; the same as above where the back
    // end's is that.
    struct {
        float *x, *part, *whole;
    } here;
};

// ---- making -----------------------------------------------------------------------

static size_t max2(size_t a, size_t b)
{
    return a > b ? a : b;
}

// The widest matrix: its outputs, of one rank.
static size_t widest_part(const struct shard *s)
{
    int tp = s->place.tp_size;
    size_t heads = place_part_most((size_t)s->config.kv_heads, tp) *
                   (size_t)(s->config.heads / s->config.kv_heads);
    size_t wide = max2(heads * s->head_dim, place_part_most((size_t)s->config.dim, tp));
    wide = max2(wide, place_part_most((size_t)s->config.hidden_dim, tp));
    return max2(wide, place_part_most((size_t)s->config.vocab, tp));
}

static size_t widest(const struct shard *s)
{
    size_t wide = max2((size_t)s->config.dim, (size_t)s->config.hidden_dim);
    return max2(wide, (size_t)s->config.vocab);
}

static float *floats(const struct forward *f, size_t n)
{
    return f->c->alloc((n > 0 ? n : 1) * sizeof(float));
}

// A copy of n floats of the back end's, for the host.
static float *beside(const struct forward *f, float *there, size_t n)
{
    return f->c->host ? there : compute_cpu()->alloc((n > 0 ? n : 1) * sizeof(float));
}

static void make_here(struct forward *f, size_t rows)
{
    const struct shard *s = f->s;
    size_t part = rows * widest_part(s);
    f->here.x = beside(f, f->x, rows * (size_t)s->config.dim);
    f->here.part = beside(f, f->part, part);
    f->here.whole = beside(f, f->whole, rows * widest(s));
    f->gathered = f->near->alloc(part * (size_t)s->place.tp_size * sizeof(float));
}

struct forward *forward_create(const struct compute *compute, const struct shard *shard,
                               struct comm *stage, struct kvcache *kv, uint32_t rows)
{
    struct forward *f = xcalloc(1, sizeof *f);
    *f = (struct forward){.c = compute, .s = shard, .stage = stage, .kv = kv};
    f->near = compute->host || comm_on_gpu(stage) ? compute : compute_cpu();
    size_t dim = (size_t)shard->config.dim, length = (size_t)shard->config.seq_len;
    size_t part = rows * widest_part(shard);
    f->x = floats(f, rows * dim);
    f->norm = floats(f, rows * dim);
    f->q = floats(f, rows * shard->q_heads.n * shard->head_dim);
    f->k = floats(f, rows * kvcache_row(kv));
    f->v = floats(f, rows * kvcache_row(kv));
    f->part = floats(f, part);
    f->other = floats(f, part);
    f->mixed = floats(f, part);
    f->whole = floats(f, rows * widest(shard));
    f->probs = floats(f, shard->q_heads.n * rows * length);
    f->rinv = floats(f, rows);
    f->rope_table = floats(f, length * shard->head_dim);
    CLEANUP_FREE float *table = xcalloc(length * shard->head_dim, sizeof *table);
    rope_table(table, length, shard->head_dim);
    f->c->put(f->rope_table, table, length * shard->head_dim * sizeof *table);
    f->weights = weights_create(compute, shard);
    make_here(f, rows);
    return f;
}

void forward_destroy(struct forward *f)
{
    if (f == NULL)
        return;
    float *all[] = {f->x,     f->norm,  f->q,     f->k,     f->v,    f->part,
                    f->other, f->mixed, f->whole, f->probs, f->rinv, f->rope_table};
    float *here[] = {f->here.x, f->here.part, f->here.whole};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        f->c->free(all[i]);
    for (size_t i = 0; !f->c->host && i < sizeof here / sizeof *here; i++)
        compute_cpu()->free(here[i]);
    f->near->free(f->gathered);
    weights_destroy(f->weights);
    free(f);
}

// ---- the host's view --------------------------------------------------------------

static void fetch(struct forward *f, float *here, const float *there, size_t n)
{
    if (!f->c->host)
        f->c->get(here, there, n * sizeof *here);
}

static void bring(struct forward *f, float *there, const float *here, size_t n)
{
    if (!f->c->host)
        f->c->put(there, here, n * sizeof *there);
}

float *forward_x(struct forward *f)
{
    return f->here.x;
}

void forward_x_came(struct forward *f, size_t rows)
{
    bring(f, f->x, f->here.x, rows * (size_t)f->s->config.dim);
}

void forward_x_goes(struct forward *f, size_t rows)
{
    fetch(f, f->here.x, f->x, rows * (size_t)f->s->config.dim);
}

// ---- across ranks -----------------------------------------------------------------

// All ranks' parts of n rows, as rows near: `total` things of `width` floats were divided.
static float *gather_near(struct forward *f, const float *part, size_t n, size_t total,
                          size_t width)
{
    int tp = f->s->place.tp_size;
    size_t most = n * place_part_most(total, tp) * width;
    size_t line = total * width * sizeof(float);
    float *whole = f->near == f->c ? f->whole : f->here.whole;
    if (f->near != f->c) {
        fetch(f, f->here.part, part, most);
        part = f->here.part;
    }
    comm_allgather(f->stage, f->gathered, part, most * sizeof(float));
    for (int rank = 0; rank < tp; rank++) {
        struct place_range r = place_part(total, tp, rank);
        size_t bytes = r.n * width * sizeof(float);
        f->near->copy_rows(whole + r.at * width, line,
                           f->gathered + (size_t)rank * most, bytes, n, bytes);
    }
    return whole;
}

// The same for the back end.
static const float *gather(struct forward *f, const float *part, size_t n, size_t total,
                           size_t width)
{
    if (f->s->place.tp_size == 1)
        return part;
    const float *near = gather_near(f, part, n, total, width);
    if (f->near != f->c)
        bring(f, f->whole, near, n * total * width);
    return f->whole;
}

// x += all outputs of a matrix with dim of them.
static void add_outputs(struct forward *f, enum model_tensor t, size_t layer,
                        const float *in, size_t n, size_t width)
{
    size_t dim = (size_t)f->s->config.dim;
    f->c->matmul(f->part, in, weights_rows(f->weights, t, layer), n, width,
                 f->s->dim.n);
    f->c->add(f->x, gather(f, f->part, n, dim, 1), n * dim);
}

// ---- a layer ----------------------------------------------------------------------

static void attend_part(struct forward *f, const struct sched_part *p, size_t row,
                        size_t layer)
{
    const struct shard *s = f->s;
    size_t kv_row = kvcache_row(f->kv), q_row = s->q_heads.n * s->head_dim;
    float *q = f->q + row * q_row, *k = f->k + row * kv_row;
    float *keys = kvcache_keys(f->kv, p->slot, layer);
    float *values = kvcache_values(f->kv, p->slot, layer);
    f->c->rope(q, f->rope_table, p->pos, p->n, s->q_heads.n, s->head_dim);
    f->c->rope(k, f->rope_table, p->pos, p->n, s->kv_heads.n, s->head_dim);
    f->c->copy(keys + p->pos * kv_row, k, p->n * kv_row * sizeof(float));
    f->c->copy(values + p->pos * kv_row, f->v + row * kv_row,
               p->n * kv_row * sizeof(float));
    const struct compute_attention shape = {.n = p->n,
                                            .pos = p->pos,
                                            .heads = s->q_heads.n,
                                            .kv_heads = s->kv_heads.n,
                                            .head_dim = s->head_dim,
                                            .stride = (size_t)s->config.seq_len};
    f->c->attention(f->mixed + row * q_row, f->probs, q, keys, values, &shape);
}

static void attend(struct forward *f, const struct sched_step *step, size_t layer)
{
    const struct shard *s = f->s;
    size_t dim = (size_t)s->config.dim, n = step->nrows, row = 0;
    size_t model_layer = s->layers.at + layer, hd = s->head_dim;
    f->c->rmsnorm(f->norm, f->rinv, f->x,
                  weights_rows(f->weights, MODEL_ATT_NORM, model_layer), n, dim);
    f->c->matmul(f->q, f->norm, weights_rows(f->weights, MODEL_WQ, model_layer), n, dim,
                 s->q_heads.n * hd);
    f->c->matmul(f->k, f->norm, weights_rows(f->weights, MODEL_WK, model_layer), n, dim,
                 s->kv_heads.n * hd);
    f->c->matmul(f->v, f->norm, weights_rows(f->weights, MODEL_WV, model_layer), n, dim,
                 s->kv_heads.n * hd);
    for (uint32_t i = 0; i < step->nparts; i++) {
        attend_part(f, &step->parts[i], row, layer);
        row += step->parts[i].n;
    }
    size_t queries = (size_t)(s->config.heads / s->config.kv_heads);
    const float *all = gather(f, f->mixed, n, (size_t)s->config.kv_heads, queries * hd);
    add_outputs(f, MODEL_WO, model_layer, all, n, dim);
}

static void feed_forward(struct forward *f, size_t n, size_t layer)
{
    const struct shard *s = f->s;
    size_t dim = (size_t)s->config.dim, hidden = (size_t)s->config.hidden_dim;
    f->c->rmsnorm(f->norm, f->rinv, f->x,
                  weights_rows(f->weights, MODEL_FFN_NORM, layer), n, dim);
    f->c->matmul(f->part, f->norm, weights_rows(f->weights, MODEL_W1, layer), n, dim,
                 s->hidden.n);
    f->c->matmul(f->other, f->norm, weights_rows(f->weights, MODEL_W3, layer), n, dim,
                 s->hidden.n);
    f->c->swiglu(f->mixed, f->part, f->other, n * s->hidden.n);
    add_outputs(f, MODEL_W2, layer, gather(f, f->mixed, n, hidden, 1), n, hidden);
}

void forward_embed(struct forward *f, const struct sched_step *step)
{
    f->c->embed(f->x, weights_rows(f->weights, MODEL_EMBEDDING, 0), step->rows,
                step->nrows, (size_t)f->s->config.dim);
}

void forward_layers(struct forward *f, const struct sched_step *step)
{
    for (size_t layer = 0; layer < f->s->layers.n; layer++) {
        attend(f, step, layer);
        feed_forward(f, step->nrows, f->s->layers.at + layer);
    }
}

// ---- logits -----------------------------------------------------------------------

// The last rows of the parts that sample, one after the other.
static size_t pick_rows(struct forward *f, const struct sched_step *step)
{
    size_t dim = (size_t)f->s->config.dim, row = 0, n = 0;
    for (uint32_t i = 0; i < step->nparts; i++) {
        row += step->parts[i].n;
        if (step->parts[i].sample)
            f->c->copy(f->norm + n++ * dim, f->x + (row - 1) * dim,
                       dim * sizeof(float));
    }
    return n;
}

float *forward_logits(struct forward *f, const struct sched_step *step, size_t *n)
{
    const struct shard *s = f->s;
    size_t dim = (size_t)s->config.dim, vocab = (size_t)s->config.vocab;
    *n = pick_rows(f, step);
    f->c->rmsnorm(f->norm, f->rinv, f->norm,
                  weights_rows(f->weights, MODEL_FINAL_NORM, 0), *n, dim);
    f->c->matmul(f->part, f->norm, weights_rows(f->weights, MODEL_CLASSIFIER, 0), *n,
                 dim, s->vocab.n);
    if (s->place.tp_size > 1) {
        const float *near = gather_near(f, f->part, *n, vocab, 1);
        if (f->near == f->c)
            fetch(f, f->here.whole, near, *n * vocab);
        return f->here.whole;
    }
    fetch(f, f->here.part, f->part, *n * vocab);
    return f->here.part;
}
