// The product of few rows, as decode has it: w is read once, from where it lies.
//
// Included by compute/matmul.h alone. A tile is up to 4 rows of x and 8 of w. These are turned, 8 by 8,
// into vectors of 8 outputs: a lane is one output's chain over k, as everywhere (compute.h), and
// stays in its register from the first term to the last.
#ifndef MUSTER_KERNELS_COMPUTE_FEW_H
#define MUSTER_KERNELS_COMPUTE_FEW_H

#include <stdbool.h>

#include "kernels/compute/order.h"

enum {
    FEW_MOST = 8,       // rows; with more of them packing pays (matmul.h)
    FEW_ROWS = 4,       // of a tile: 4 accumulators, 8 columns of w, one x
    FEW_K = 2 * VEC,    // floats of a row of w at a time: a cache line
    FEW_STRIP = 4 * VEC // outputs that all rows go over while they are in the cache
};

#define FEW_FN static inline __attribute__((always_inline))

struct few {
    float *y;
    const float *x, *w;
    size_t in, out;
};

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// s goes on with n terms: columns of w, and x's rows from k on.
FEW_FN void few_terms(vec *s, const vec *column, const float *x, size_t in, size_t rows,
                      size_t n)
{
#pragma GCC unroll 8
    for (size_t k = 0; k < n; k++) {
#pragma GCC unroll 4
        for (size_t i = 0; i < rows; i++)
            s[i] = vec_fma(vec_all(x[i * in + k]), column[k], s[i]);
    }
}

// y[i .. i + rows) of outputs j to j + groups * 8.
FEW_FN void few_tile(const struct few *p, size_t i, size_t j, size_t rows,
                     size_t groups)
{
    const float *x = p->x + i * p->in, *w = p->w + j * p->in;
    vec s[FEW_ROWS * 4] = {0}, column[VEC];
    size_t k = 0;
    for (; k + FEW_K <= p->in; k += FEW_K) {
#pragma GCC unroll 4
        for (size_t g = 0; g < groups; g++) {
#pragma GCC unroll 2
            for (size_t part = k; part < k + FEW_K; part += VEC) {
                vec_columns(column, w + g * VEC * p->in + part, p->in);
                few_terms(s + g * rows, column, x + part, p->in, rows, VEC);
            }
        }
    }
    for (; k < p->in; k++) {
#pragma GCC unroll 4
        for (size_t g = 0; g < groups; g++) {
            for (size_t lane = 0; lane < VEC; lane++)
                column[0][lane] = w[(g * VEC + lane) * p->in + k];
            few_terms(s + g * rows, column, x + k, p->in, rows, 1);
        }
    }
#pragma GCC unroll 4
    for (size_t g = 0; g < groups; g++) {
#pragma GCC unroll 4
        for (size_t r = 0; r < rows; r++)
            vec_store(p->y + (i + r) * p->out + j + g * VEC, s[g * rows + r]);
    }
}

// `groups`: tiles side by side, so that a chain's next term need not wait for the one before.
FEW_FN void few_strip(const struct few *p, size_t i, size_t j, size_t n, size_t rows,
                      size_t groups)
{
    size_t at = 0;
    for (; at + groups * VEC <= n; at += groups * VEC)
        few_tile(p, i, j + at, rows, groups);
    for (; at < n; at += VEC) // the last one begins early: the same outputs once more
        few_tile(p, i, least(j + at, p->out - VEC), rows, 1);
}

static bool few_can(size_t n, size_t out)
{
    return n <= FEW_MOST && out >= VEC;
}

static void few_matmul(float *y, const float *x, const float *w, size_t n, size_t in,
                       size_t out)
{
    const struct few p = {.y = y, .x = x, .w = w, .in = in, .out = out};
    for (size_t j = 0; j < out; j += FEW_STRIP) {
        size_t strip = least(FEW_STRIP, out - j);
        for (size_t i = 0; i < n; i += FEW_ROWS) {
            switch (n - i) {
            case 1: few_strip(&p, i, j, strip, 1, 4); break;
            case 2: few_strip(&p, i, j, strip, 2, 2); break;
            case 3: few_strip(&p, i, j, strip, 3, 1); break;
            default: few_strip(&p, i, j, strip, FEW_ROWS, 1); break;
            }
        }
    }
}

#endif
