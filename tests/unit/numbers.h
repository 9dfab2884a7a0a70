// Random floats, and comparisons, for tests of the kernels.
#ifndef MUSTER_TESTS_UNIT_NUMBERS_H
#define MUSTER_TESTS_UNIT_NUMBERS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/model/mix.h"

// n floats from -1 to 1; the caller frees.
static inline float *numbers(uint64_t seed, size_t n)
{
    float *x = xmalloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(mix(mix(seed) + i) >> 40) * 0x1p-23F - 1;
    return x;
}

static inline bool same_bits(const float *a, const float *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

// Is every element within `share` of the largest of `want`?
static inline bool all_near(const float *is, const double *want, size_t n, double share)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fabs(want[i]) > most ? fabs(want[i]) : most;
    for (size_t i = 0; i < n; i++) {
        if (!(fabs((double)is[i] - want[i]) <= share * most))
            return false;
    }
    return true;
}

#endif
