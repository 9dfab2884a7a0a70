// The optimizer's step, and gradients as integers.
//
// Included by compute/table.c alone.
#ifndef MUSTER_KERNELS_COMPUTE_STEP_H
#define MUSTER_KERNELS_COMPUTE_STEP_H

#include "kernels/compute/compute.h"
#include "kernels/compute/scalar.h"

static bool fixed_add(int64_t *restrict sum, const float *restrict g, size_t count)
{
    const double unit = (double)(INT64_C(1) << COMPUTE_FIXED_BITS);
    int32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        bad |= !(__builtin_fabsf(g[i]) < COMPUTE_FIXED_MAX);
        sum[i] = scalar_fixed_add(sum[i], g[i], unit);
    }
    return bad == 0;
}

static void add_i64(int64_t *restrict sum, const int64_t *restrict part, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] = scalar_add_i64(sum[i], part[i]);
}

static void fixed_scale(float *restrict g, const int64_t *restrict sum, double scale,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        g[i] = (float)((double)sum[i] * scale);
}

static void squares(double *restrict sums, const float *restrict g, size_t blocks,
                    size_t block)
{
    for (size_t b = 0; b < blocks; b++)
        sums[b] = scalar_squares(g + b * block, block);
}

static void adamw(float *restrict param, float *restrict m, float *restrict v,
                  const float *restrict g, float scale, size_t count,
                  const struct compute_adamw *how)
{
    const struct compute_adamw a = *how;
    for (size_t i = 0; i < count; i++)
        scalar_adamw(param + i, m + i, v + i, g[i] * scale, &a);
}

#endif
