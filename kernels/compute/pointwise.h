// What works on each row or element by itself: exp and log, softmax, norm, RoPE, SwiGLU, loss.
//
// Included by compute/table.c alone.
#ifndef MUSTER_KERNELS_COMPUTE_POINTWISE_H
#define MUSTER_KERNELS_COMPUTE_POINTWISE_H

#include "kernels/compute/order.h"
#include "kernels/compute/scalar.h"

// ---- exp --------------------------------------------------------------------------

#define NUMBER       vec
#define INTEGER      ivec
#define EXP_FN       static inline vec vec_exp
#define ALL          vec_all
#define FMA          vec_fma
#define PICK         vec_pick
#define BITS(x)      ((ivec)(x))
#define NUMBER_OF(x) ((vec)(x))
#include "kernels/compute/exp.inc"

// ---- softmax and the loss ---------------------------------------------------------

static float row_max(const float *x, size_t n)
{
    float max = x[0];
    for (size_t i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

// x = exp(x - max); returns their sum.
static float row_exp(float *x, float max, size_t n)
{
    size_t i = 0;
    for (; i + VEC <= n; i += VEC)
        vec_store(x + i, vec_exp(vec_load(x + i) - vec_all(max)));
    if (i < n)
        vec_store_some(x + i, vec_exp(vec_load_some(x + i, n - i) - vec_all(max)),
                       n - i);
    return lanes_total(x, n);
}

static void softmax_row(float *x, size_t n)
{
    float scale = 1 / row_exp(x, row_max(x, n), n);
    for (size_t i = 0; i < n; i++)
        x[i] *= scale;
}

static void softmax(float *x, size_t n, size_t len)
{
    for (size_t i = 0; i < n; i++)
        softmax_row(x + i * len, len);
}

static double cross_entropy(float *logits, const int32_t *targets, size_t n,
                            size_t vocab, float scale)
{
    double loss = 0;
    for (size_t i = 0; i < n; i++) {
        float *x = logits + i * vocab, max = row_max(x, vocab);
        double right = (double)x[targets[i]] - (double)max;
        float sum = row_exp(x, max, vocab), inverse = 1 / sum;
        loss += scalar_log((double)sum) - right;
        for (size_t j = 0; j < vocab; j++)
            x[j] = x[j] * inverse * scale;
        x[targets[i]] -= scale;
    }
    return loss;
}

// ---- norm -------------------------------------------------------------------------

static void rmsnorm(float *y, float *rinv, const float *x, const float *w, size_t n,
                    size_t dim)
{
    for (size_t i = 0; i < n; i++, y += dim, x += dim) {
        float r = 1 / __builtin_sqrtf(lanes_dot(x, x, dim) / (float)dim + 1e-5F);
        rinv[i] = r;
        for (size_t d = 0; d < dim; d++)
            y[d] = w[d] * (r * x[d]);
    }
}

static void rmsnorm_back(float *restrict dx, float *restrict dw,
                         const float *restrict dy, const float *restrict x,
                         const float *restrict w, const float *restrict rinv, size_t n,
                         size_t dim)
{
    for (size_t i = 0; i < n; i++, dx += dim, dy += dim, x += dim) {
        float r = rinv[i];
        float pull = lanes_dot3(dy, w, x, dim) * r * r * r / (float)dim;
        for (size_t d = 0; d < dim; d++) {
            dx[d] += r * (dy[d] * w[d]) - x[d] * pull;
            dw[d] += dy[d] * (r * x[d]);
        }
    }
}

// ---- RoPE -------------------------------------------------------------------------

// way: 1 turns, -1 turns back.
static void turn(float *x, const float *table, size_t pos, size_t n, size_t heads,
                 size_t head_dim, float way)
{
    for (size_t i = 0; i < n; i++) {
        const float *row = table + (pos + i) * head_dim;
        for (size_t h = 0; h < heads; h++, x += head_dim) {
            for (size_t d = 0; d < head_dim; d += 2) {
                float a = x[d], b = x[d + 1], c = row[d], s = way * row[d + 1];
                // As fma, or gcc 12 makes one out of it (whatever -ffp-contract is).
                x[d] = __builtin_fmaf(a, c, -(b * s));
                x[d + 1] = __builtin_fmaf(a, s, b * c);
            }
        }
    }
}

static void rope(float *x, const float *table, size_t pos, size_t n, size_t heads,
                 size_t head_dim)
{
    turn(x, table, pos, n, heads, head_dim, 1);
}

static void rope_back(float *dx, const float *table, size_t pos, size_t n, size_t heads,
                      size_t head_dim)
{
    turn(dx, table, pos, n, heads, head_dim, -1);
}

// ---- SwiGLU -----------------------------------------------------------------------

static inline vec vec_sigmoid(vec x)
{
    return 1 / (1 + vec_exp(-x));
}

static inline vec vec_swiglu(vec gate, vec up)
{
    return gate * vec_sigmoid(gate) * up;
}

static void swiglu(float *y, const float *gate, const float *up, size_t count)
{
    size_t i = 0, left = count % VEC;
    for (; i + VEC <= count; i += VEC)
        vec_store(y + i, vec_swiglu(vec_load(gate + i), vec_load(up + i)));
    vec_store_some(
        y + i, vec_swiglu(vec_load_some(gate + i, left), vec_load_some(up + i, left)),
        left);
}

// d is dy; it becomes the gradient of the gate, *up that of up.
static inline vec vec_swiglu_back(vec d, vec gate, vec *up)
{
    vec s = vec_sigmoid(gate), u = *up;
    *up = d * (gate * s);
    return d * u * (s * (1 + gate * (1 - s)));
}

static void swiglu_back(float *dgate, float *dup, const float *dy, const float *gate,
                        const float *up, size_t count)
{
    size_t i = 0, left = count % VEC;
    for (; i + VEC <= count; i += VEC) {
        vec u = vec_load(up + i);
        vec d = vec_swiglu_back(vec_load(dy + i), vec_load(gate + i), &u);
        vec_store(dup + i, u);
        vec_store(dgate + i, d);
    }
    vec u = vec_load_some(up + i, left);
    vec d =
        vec_swiglu_back(vec_load_some(dy + i, left), vec_load_some(gate + i, left), &u);
    vec_store_some(dup + i, u, left);
    vec_store_some(dgate + i, d, left);
}

// ---- embedding --------------------------------------------------------------------

static void add(float *restrict y, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += x[i];
}

static void embed(float *y, const float *table, const int32_t *tokens, size_t n,
                  size_t dim)
{
    for (size_t i = 0; i < n; i++)
        memcpy(y + i * dim, table + (size_t)tokens[i] * dim, dim * sizeof *y);
}

static void embed_back(float *dtable, const float *dy, const int32_t *tokens, size_t n,
                       size_t dim)
{
    for (size_t i = 0; i < n; i++)
        add(dtable + (size_t)tokens[i] * dim, dy + i * dim, dim);
}

#endif
