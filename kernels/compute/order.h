// Vectors of eight floats, and the two orders of sums: chain and lanes (compute.h).
//
// Included by compute/table.c alone, which is compiled with FMA instructions and without: the
// same operations, so the same bits.
#ifndef MUSTER_KERNELS_COMPUTE_ORDER_H
#define MUSTER_KERNELS_COMPUTE_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __FMA__
#include <immintrin.h>
#endif

enum { VEC = 8, LANES = 2 * VEC, WIDE = 4 * VEC };
typedef float vec __attribute__((vector_size(32)));
typedef float quad __attribute__((vector_size(16)));
typedef int32_t ivec __attribute__((vector_size(32)));

static inline vec vec_load(const float *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void vec_store(float *p, vec v)
{
    memcpy(p, &v, sizeof v);
}

static inline vec vec_all(float x)
{
    return (vec){x, x, x, x, x, x, x, x};
}

static inline vec vec_fma(vec a, vec b, vec c)
{
#ifdef __FMA__
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    vec r;
    for (int j = 0; j < VEC; j++)
        r[j] = __builtin_fmaf(a[j], b[j], c[j]);
    return r;
#endif
}

// a where the comparison holds, else b.
static inline vec vec_pick(ivec holds, vec a, vec b)
{
    return (vec)((holds & (ivec)a) | (~holds & (ivec)b));
}

// The first n <= VEC floats, then zeros.
static inline vec vec_load_some(const float *p, size_t n)
{
    vec v = {0};
    memcpy(&v, p, n * sizeof(float));
    return v;
}

static inline void vec_store_some(float *p, vec v, size_t n)
{
    memcpy(p, &v, n * sizeof(float));
}

// Four floats from each of two places.
static inline vec vec_join(const float *low, const float *high)
{
    quad a, b;
    memcpy(&a, low, sizeof a);
    memcpy(&b, high, sizeof b);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}

// Rows become columns: float i of column j is from[i * rows_apart + j], 8 by 8. Halves of rows i and
// i + 4 are joined as they are loaded, so that nothing has to cross a vector's middle afterwards.
static inline void vec_columns(vec column[VEC], const float *from, size_t rows_apart)
{
    const float *below = from + VEC / 2 * rows_apart;
#pragma GCC unroll 2
    for (size_t j = 0; j < VEC; j += VEC / 2, from += VEC / 2, below += VEC / 2) {
        vec r0 = vec_join(from, below);
        vec r1 = vec_join(from + rows_apart, below + rows_apart);
        vec r2 = vec_join(from + 2 * rows_apart, below + 2 * rows_apart);
        vec r3 = vec_join(from + 3 * rows_apart, below + 3 * rows_apart);
        vec s0 = __builtin_shufflevector(r0, r1, 0, 8, 1, 9, 4, 12, 5, 13);
        vec s1 = __builtin_shufflevector(r2, r3, 0, 8, 1, 9, 4, 12, 5, 13);
        vec s2 = __builtin_shufflevector(r0, r1, 2, 10, 3, 11, 6, 14, 7, 15);
        vec s3 = __builtin_shufflevector(r2, r3, 2, 10, 3, 11, 6, 14, 7, 15);
        column[j] = __builtin_shufflevector(s0, s1, 0, 1, 8, 9, 4, 5, 12, 13);
        column[j + 1] = __builtin_shufflevector(s0, s1, 2, 3, 10, 11, 6, 7, 14, 15);
        column[j + 2] = __builtin_shufflevector(s2, s3, 0, 1, 8, 9, 4, 5, 12, 13);
        column[j + 3] = __builtin_shufflevector(s2, s3, 2, 3, 10, 11, 6, 7, 14, 15);
    }
}

// The columns, `stride` floats apart.
static inline void vec_turn(float *out, size_t stride, const float *from,
                            size_t rows_apart)
{
    vec column[VEC];
    vec_columns(column, from, rows_apart);
#pragma GCC unroll 8
    for (size_t j = 0; j < VEC; j++)
        vec_store(out + j * stride, column[j]);
}

// ---- lanes ------------------------------------------------------------------------

struct lanes {
    vec low, high; // lanes 0 to 7, 8 to 15
};

static inline float lanes_sum(struct lanes s)
{
    vec v = s.low + s.high;
    for (int width = VEC / 2; width > 0; width /= 2) {
        for (int j = 0; j < width; j++)
            v[j] += v[j + width];
    }
    return v[0];
}

static inline void lanes_fma_one(struct lanes *s, size_t k, float a, float b)
{
    size_t lane = k % LANES;
    vec *half = lane < VEC ? &s->low : &s->high;
    (*half)[lane % VEC] = __builtin_fmaf(a, b, (*half)[lane % VEC]);
}

// Sum of a[k] * b[k].
static inline float lanes_dot(const float *a, const float *b, size_t n)
{
    struct lanes s = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        s.low = vec_fma(vec_load(a + k), vec_load(b + k), s.low);
        s.high = vec_fma(vec_load(a + k + VEC), vec_load(b + k + VEC), s.high);
    }
    for (; k < n; k++)
        lanes_fma_one(&s, k, a[k], b[k]);
    return lanes_sum(s);
}

// Sum of (a[k] * b[k]) * c[k], the first product rounded.
static inline float lanes_dot3(const float *a, const float *b, const float *c, size_t n)
{
    struct lanes s = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        vec low = vec_load(a + k) * vec_load(b + k);
        vec high = vec_load(a + k + VEC) * vec_load(b + k + VEC);
        s.low = vec_fma(low, vec_load(c + k), s.low);
        s.high = vec_fma(high, vec_load(c + k + VEC), s.high);
    }
    for (; k < n; k++)
        lanes_fma_one(&s, k, a[k] * b[k], c[k]);
    return lanes_sum(s);
}

// Sum of a[k].
static inline float lanes_total(const float *a, size_t n)
{
    struct lanes s = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        s.low += vec_load(a + k);
        s.high += vec_load(a + k + VEC);
    }
    for (; k < n; k++)
        lanes_fma_one(&s, k, a[k], 1);
    return lanes_sum(s);
}

// ---- chains -----------------------------------------------------------------------

// `count` vectors side by side: y[...] = fma(p[s], rows[s][...], y[...]) for s = 0, 1, ...
static inline __attribute__((always_inline)) void chain_block(float *y, const float *p,
                                                              const float *rows,
                                                              size_t stride, size_t n,
                                                              size_t count)
{
    vec s[4];
#pragma GCC unroll 4
    for (size_t j = 0; j < count; j++)
        s[j] = vec_load(y + j * VEC);
    for (size_t i = 0; i < n; i++) {
        vec x = vec_all(p[i]);
#pragma GCC unroll 4
        for (size_t j = 0; j < count; j++)
            s[j] = vec_fma(x, vec_load(rows + i * stride + j * VEC), s[j]);
    }
#pragma GCC unroll 4
    for (size_t j = 0; j < count; j++)
        vec_store(y + j * VEC, s[j]);
}

// y[0..dim) goes on with p[s] * rows[s][0..dim), s = 0 to n - 1.
static inline void chain_rows(float *restrict y, const float *p, const float *rows,
                              size_t stride, size_t n, size_t dim)
{
    size_t d = 0;
    for (; d + WIDE <= dim; d += WIDE)
        chain_block(y + d, p, rows + d, stride, n, 4);
    for (; d + VEC <= dim; d += VEC)
        chain_block(y + d, p, rows + d, stride, n, 1);
    for (; d < dim; d++) {
        for (size_t i = 0; i < n; i++)
            y[d] = __builtin_fmaf(p[i], rows[i * stride + d], y[d]);
    }
}

// y[d] = fma(p, x[d], y[d])
static inline void chain_one(float *restrict y, float p, const float *restrict x,
                             size_t dim)
{
    size_t d = 0;
    for (; d + VEC <= dim; d += VEC)
        vec_store(y + d, vec_fma(vec_all(p), vec_load(x + d), vec_load(y + d)));
    for (; d < dim; d++)
        y[d] = __builtin_fmaf(p, x[d], y[d]);
}

#endif
