// Attention: against doubles, its gradient against finite differences, prefill against decode.
#include <criterion/criterion.h>

#include "kernels/compute/compute.h"
#include "tests/unit/numbers.h"

enum { N = 7, HEADS = 4, KV = 2, DIM = 10, Q = N * HEADS * DIM, K = N * KV * DIM };

static const struct compute_attention shape = {
    .n = N, .heads = HEADS, .kv_heads = KV, .head_dim = DIM, .stride = N + 3};

struct inputs {
    double q[Q], k[K], v[K];
};

static void widen(double *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (double)from[i];
}

// One position of one head.
static void attend(double *out, const struct inputs *in, size_t h, size_t t)
{
    const double *q = in->q + (t * HEADS + h) * DIM;
    size_t kv = h / (HEADS / KV);
    double p[N], sum = 0;
    for (size_t s = 0; s <= t; s++) {
        p[s] = 0;
        for (size_t d = 0; d < DIM; d++)
            p[s] += q[d] * in->k[(s * KV + kv) * DIM + d];
        p[s] = exp(p[s] / sqrt(DIM));
        sum += p[s];
    }
    for (size_t d = 0; d < DIM; d++) {
        out[d] = 0;
        for (size_t s = 0; s <= t; s++)
            out[d] += p[s] / sum * in->v[(s * KV + kv) * DIM + d];
    }
}

static void reference(double *out, const struct inputs *in)
{
    for (size_t t = 0; t < N; t++) {
        for (size_t h = 0; h < HEADS; h++)
            attend(out + (t * HEADS + h) * DIM, in, h, t);
    }
}

// What is differentiated: the outputs, weighted.
static double weighted(const struct inputs *in, const float *dout)
{
    double out[Q], sum = 0;
    reference(out, in);
    for (size_t i = 0; i < Q; i++)
        sum += out[i] * (double)dout[i];
    return sum;
}

static void differences(double *d, struct inputs *in, double *x, size_t n,
                        const float *dout)
{
    const double step = 1e-6;
    for (size_t i = 0; i < n; i++) {
        double was = x[i];
        x[i] = was + step;
        double up = weighted(in, dout);
        x[i] = was - step;
        d[i] = (up - weighted(in, dout)) / (2 * step);
        x[i] = was;
    }
}

static void check_against_doubles(const struct compute *c)
{
    CLEANUP_FREE float *q = numbers(1, Q), *k = numbers(2, K), *v = numbers(3, K);
    CLEANUP_FREE float *out = numbers(4, Q), *dout = numbers(5, Q);
    CLEANUP_FREE float *probs = numbers(6, HEADS * N * shape.stride);
    struct inputs in;
    double want[Q];
    widen(in.q, q, Q);
    widen(in.k, k, K);
    widen(in.v, v, K);
    reference(want, &in);
    c->attention(out, probs, q, k, v, &shape);
    cr_assert(all_near(out, want, Q, 1e-6));

    float dq[Q] = {0}, dk[K] = {0}, dv[K] = {0}, scratch[N + 3];
    c->attention_back(dq, dk, dv, dout, probs, q, k, v, scratch, &shape);
    differences(want, &in, in.q, Q, dout);
    cr_assert(all_near(dq, want, Q, 1e-5));
    differences(want, &in, in.k, K, dout);
    cr_assert(all_near(dk, want, K, 1e-5));
    differences(want, &in, in.v, K, dout);
    cr_assert(all_near(dv, want, K, 1e-5));
}

Test(attention, near_doubles_and_finite_differences)
{
    check_against_doubles(compute_cpu());
    check_against_doubles(compute_portable());
}

// Any cut of the positions into calls gives the same bits, as does the portable build.
Test(attention, decode_is_prefill)
{
    const struct compute *c = compute_cpu();
    CLEANUP_FREE float *q = numbers(1, Q), *k = numbers(2, K), *v = numbers(3, K);
    float all[Q], parts[Q], probs[HEADS * N * (N + 3)];
    compute_portable()->attention(all, probs, q, k, v, &shape);
    for (size_t first = 1; first <= N; first++) {
        for (size_t t = 0; t < N; t += t == 0 ? first : 1) {
            struct compute_attention part = shape;
            part.pos = t;
            part.n = t == 0 ? first : 1;
            c->attention(parts + t * HEADS * DIM, probs, q + t * HEADS * DIM, k, v,
                         &part);
        }
        cr_assert(same_bits(all, parts, Q), "%zu first", first);
    }
}
