// The numbers of the products: kinds, their bits, and what each element is. Pure.
//
// As product.h: A[i][k] = f[(i + k) mod N] * 2^r(i), B[k][j] = g[(k - j) mod N] * 2^c(j),
// C[i][j] = h[(i + j) mod N] * 2^(r(i) + c(j)). bf16 and fp16 are converted by their bits:
// all values are exact in them.
#ifndef MUSTER_KERNELS_CHECK_GPU_FORMATS_H
#define MUSTER_KERNELS_CHECK_GPU_FORMATS_H

#include <stdint.h>
#include <string.h>

#include "kernels/check/pattern.h"

enum { GPU_N = 1024, GPU_TILE = 16, GPU_TILES = GPU_N / GPU_TILE };

enum gpu_kind { GPU_FP32, GPU_BF16, GPU_FP16, GPU_KINDS };

// What a product is made of; a copy of it lies in the GPU's memory.
struct gpu_tables {
    float f[GPU_N], g[GPU_N], h[GPU_N];
    float row[GPU_N], column[GPU_N]; // powers of two
};

PATTERN_FN uint32_t gpu_float_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

PATTERN_FN float gpu_float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

// Exponents of float and fp16 differ by 112; fraction bits by 13. No subnormals, no NaN.
PATTERN_FN uint16_t gpu_to_16(enum gpu_kind kind, float v)
{
    uint32_t bits = gpu_float_bits(v), sign = bits >> 16 & 0x8000;
    if (kind == GPU_BF16 || v == 0)
        return (uint16_t)(bits >> 16);
    return (uint16_t)(sign | (((bits >> 13) & 0x3ffff) - (112u << 10)));
}

PATTERN_FN float gpu_from_16(enum gpu_kind kind, uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
    if (kind == GPU_BF16)
        return gpu_float_of((uint32_t)half << 16);
    return gpu_float_of(rest == 0 ? sign : sign | ((rest + (112u << 10)) << 13));
}

PATTERN_FN float gpu_load(enum gpu_kind kind, const void *m, unsigned i)
{
    return kind == GPU_FP32 ? ((const float *)m)[i]
                            : gpu_from_16(kind, ((const uint16_t *)m)[i]);
}

PATTERN_FN void gpu_store(enum gpu_kind kind, void *m, unsigned i, float v)
{
    if (kind == GPU_FP32)
        ((float *)m)[i] = v;
    else
        ((uint16_t *)m)[i] = gpu_to_16(kind, v);
}

PATTERN_FN float gpu_expected(const struct gpu_tables *t, unsigned row, unsigned column)
{
    return t->h[(row + column) % GPU_N] * t->row[row] * t->column[column];
}

// Draws f, g and the powers, and sums h in integers. Bounds: N * limit^2 < 2^24 for fp32;
// 2^22 for the tensor cores' sums, whose alignment may cost bits.
static inline void gpu_draw(struct gpu_tables *t, enum gpu_kind kind, uint64_t seed)
{
    static const int64_t limits[GPU_KINDS] = {127, 63, 63};
    uint64_t span = (uint64_t)(2 * limits[kind] + 1);
    for (uint64_t i = 0; i < GPU_N; i++) {
        t->f[i] = (float)((int64_t)(pattern_word(seed, 4 * i) % span) - limits[kind]);
        t->g[i] =
            (float)((int64_t)(pattern_word(seed, 4 * i + 1) % span) - limits[kind]);
        t->row[i] = (float)(1 << (pattern_word(seed, 4 * i + 2) >> 20) % 8) / 16;
        t->column[i] = (float)(1 << (pattern_word(seed, 4 * i + 3) >> 20) % 8) / 16;
    }
    for (unsigned d = 0; d < GPU_N; d++) {
        int64_t sum = 0;
        for (unsigned k = 0; k < GPU_N; k++)
            sum += (int64_t)t->f[k] * (int64_t)t->g[(k - d) % GPU_N];
        t->h[d] = (float)sum;
    }
}

#endif
