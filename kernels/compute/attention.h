// Causal attention with grouped queries, forward (prefill and decode) and backward.
//
// Included by compute/table.c alone.
#ifndef MUSTER_KERNELS_COMPUTE_ATTENTION_H
#define MUSTER_KERNELS_COMPUTE_ATTENTION_H

#include "kernels/compute/compute.h"
#include "kernels/compute/order.h"
#include "kernels/compute/pointwise.h"

// One head's part of the buffers.
struct head {
    const float *k, *v;
    const float *q, *probs;
    size_t q_step, kv_step; // floats from a position to the next
    size_t dim, stride;
    float scale;
};

static float attention_scale(const struct compute_attention *s)
{
    return 1.0F / __builtin_sqrtf((float)s->head_dim);
}

// Floats before this head's part in queries, in keys and values.
static size_t head_at(const struct compute_attention *s, size_t h)
{
    return h * s->head_dim;
}

static size_t kv_head_at(const struct compute_attention *s, size_t h)
{
    return h / (s->heads / s->kv_heads) * s->head_dim;
}

static void attend(float *restrict out, float *restrict p, const float *q,
                   const struct head *h, size_t seen)
{
    for (size_t s = 0; s < seen; s++)
        p[s] = lanes_dot(q, h->k + s * h->kv_step, h->dim) * h->scale;
    softmax_row(p, seen);
    memset(out, 0, h->dim * sizeof *out);
    chain_rows(out, p, h->v, h->kv_step, seen, h->dim);
}

static void attention(float *out, float *probs, const float *q, const float *k,
                      const float *v, const struct compute_attention *shape)
{
    for (size_t i = 0; i < shape->heads; i++) {
        size_t at = head_at(shape, i), kv_at = kv_head_at(shape, i);
        struct head h = {.k = k + kv_at,
                         .v = v + kv_at,
                         .q_step = shape->heads * shape->head_dim,
                         .kv_step = shape->kv_heads * shape->head_dim,
                         .dim = shape->head_dim,
                         .scale = attention_scale(shape)};
        for (size_t t = 0; t < shape->n; t++)
            attend(out + at + t * h.q_step, probs + (i * shape->n + t) * shape->stride,
                   q + at + t * h.q_step, &h, shape->pos + t + 1);
    }
}

// One position's gradient: ds (scratch) is that of the scores.
static void attend_back(float *dq, float *dk, float *dv, const float *dout,
                        const struct head *h, size_t t, float *restrict ds)
{
    const float *p = h->probs + t * h->stride, *q = h->q + t * h->q_step;
    size_t seen = t + 1;
    for (size_t s = 0; s < seen; s++)
        ds[s] = lanes_dot(dout, h->v + s * h->kv_step, h->dim);
    float mean = lanes_dot(p, ds, seen);
    for (size_t s = 0; s < seen; s++)
        ds[s] = p[s] * (ds[s] - mean) * h->scale;
    chain_rows(dq, ds, h->k, h->kv_step, seen, h->dim);
    for (size_t s = 0; s < seen; s++) {
        chain_one(dk + s * h->kv_step, ds[s], q, h->dim);
        chain_one(dv + s * h->kv_step, p[s], dout, h->dim);
    }
}

static void attention_back(float *dq, float *dk, float *dv, const float *dout,
                           const float *probs, const float *q, const float *k,
                           const float *v, float *scratch,
                           const struct compute_attention *shape)
{
    for (size_t i = 0; i < shape->heads; i++) {
        size_t at = head_at(shape, i), kv_at = kv_head_at(shape, i);
        struct head h = {.k = k + kv_at,
                         .v = v + kv_at,
                         .q = q + at,
                         .probs = probs + i * shape->n * shape->stride,
                         .q_step = shape->heads * shape->head_dim,
                         .kv_step = shape->kv_heads * shape->head_dim,
                         .dim = shape->head_dim,
                         .stride = shape->stride,
                         .scale = attention_scale(shape)};
        for (size_t t = 0; t < shape->n; t++)
            attend_back(dq + at + t * h.q_step, dk + kv_at, dv + kv_at,
                        dout + at + t * h.q_step, &h, t, scratch);
    }
}

#endif
