// What CPUs and GPUs compute number by number, from one source: the natural logarithm, the
// fixed point of gradients, sums of squares, and AdamW.
#ifndef MUSTER_KERNELS_COMPUTE_SCALAR_H
#define MUSTER_KERNELS_COMPUTE_SCALAR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/compute/compute.h"

#ifdef __CUDACC__
#define SCALAR_FN static __host__ __device__ inline
#else
#define SCALAR_FN static inline
#endif

SCALAR_FN uint64_t scalar_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

SCALAR_FN double scalar_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// ln(x) of a normal x > 0: the exponent, and 2 atanh((m - 1) / (m + 1)) of the mantissa.
SCALAR_FN double scalar_log(double x)
{
    uint64_t bits = scalar_bits(x);
    int64_t e = (int64_t)(bits >> 52) - 1023;
    double m = scalar_of((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
    if (m > 1.4142135623730951) {
        m /= 2;
        e++;
    }
    double z = (m - 1) / (m + 1), z2 = z * z, sum = 0;
    for (int k = 23; k > 0; k -= 2)
        sum = sum * z2 + 1.0 / k;
    return (double)e * 0.69314718055994531 + 2 * z * sum;
}

// sum + g times `unit`, rounded to nearest even: what is added to 1.5 * 2^52 is rounded to an
// integer, which then stands in the low bits. Unsigned, so that what is no gradient spoils the
// sum and nothing else.
SCALAR_FN int64_t scalar_fixed_add(int64_t sum, float g, double unit)
{
    const double magic = 6755399441055744.0;
    uint64_t add = scalar_bits((double)g * unit + magic) - scalar_bits(magic);
    return (int64_t)((uint64_t)sum + add);
}

// Wraps around where it must, as the sums of collectives do.
SCALAR_FN int64_t scalar_add_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

// The product of two floats is exact in double: fused or not, a term is rounded once.
SCALAR_FN double scalar_squares(const float *g, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)g[i] * (double)g[i];
    return sum;
}

SCALAR_FN void scalar_adamw(float *param, float *m, float *v, float grad,
                            const struct compute_adamw *a)
{
    *m = a->beta1 * *m + (1 - a->beta1) * grad;
    *v = a->beta2 * *v + (1 - a->beta2) * (grad * grad);
    float way = *m * a->correct1 / (sqrtf(*v * a->correct2) + a->eps);
    *param -= a->lr * (way + a->decay * *param);
}

#endif
