// The scalar kernels of gpucheck: march, copy, products. nvcc compiles them for GPUs, a C
// compiler through gpu_emu.h for their tests. No kernel has barriers or shared memory.
#ifndef MUSTER_KERNELS_CHECK_GPU_KERNELS_H
#define MUSTER_KERNELS_CHECK_GPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/check/gpu_formats.h"
#include "kernels/check/gpu_wrong.h"
#include "kernels/check/pattern.h"
#ifndef __CUDACC__
#include "common/gpu_emu.h"
#else
__device__ static inline unsigned gpu_sm(void)
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}
#endif

// 16 bytes, so that a thread moves them at once.
struct __align__(16) gpu_pair
{
    uint64_t a, b;
};

__device__ void gpu_note(struct gpu_wrong *w, uint64_t place, uint64_t expected,
                         uint64_t got, unsigned sm)
{
    if (atomicAdd(&w->count, 1) != 0)
        return;
    w->place = place;
    w->expected = expected;
    w->got = got;
    w->sm = sm;
}

// First pair of this thread, and how far it is to its next one.
__device__ size_t gpu_first(void)
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ size_t gpu_stride(void)
{
    return (size_t)gridDim.x * blockDim.x;
}

__device__ struct gpu_pair gpu_pattern(uint64_t seed, size_t i, uint64_t flip)
{
    struct gpu_pair p = {pattern_word(seed, i * 16) ^ flip,
                         pattern_word(seed, i * 16 + 8) ^ flip};
    return p;
}

__global__ void gpu_write(struct gpu_pair *at, size_t n, uint64_t seed, uint64_t flip)
{
    for (size_t i = gpu_first(); i < n; i += gpu_stride())
        at[i] = gpu_pattern(seed, i, flip);
}

// Verifies the pattern, inverted where flip is ~0, and writes its inverse where it may.
__global__ void gpu_march(struct gpu_pair *at, size_t n, uint64_t seed, uint64_t flip,
                          bool writes, bool down, struct gpu_wrong *wrong)
{
    for (size_t k = gpu_first(); k < n; k += gpu_stride()) {
        size_t i = down ? n - 1 - k : k;
        struct gpu_pair got = at[i], want = gpu_pattern(seed, i, flip);
        if (got.a != want.a)
            gpu_note(wrong, i * 16, want.a, got.a, gpu_sm());
        if (got.b != want.b)
            gpu_note(wrong, i * 16 + 8, want.b, got.b, gpu_sm());
        if (writes)
            at[i] = gpu_pattern(seed, i, ~flip);
    }
}

__global__ void gpu_copy(struct gpu_pair *to, const struct gpu_pair *from, size_t n)
{
    for (size_t i = gpu_first(); i < n; i += gpu_stride())
        to[i] = from[i];
}

__global__ void gpu_fill(enum gpu_kind kind, void *a, void *b, float *c,
                         const struct gpu_tables *t)
{
    for (size_t i = gpu_first(); i < (size_t)GPU_N * GPU_N; i += gpu_stride()) {
        unsigned row = (unsigned)(i / GPU_N), column = (unsigned)(i % GPU_N);
        gpu_store(kind, a, (unsigned)i, t->f[(row + column) % GPU_N] * t->row[row]);
        gpu_store(kind, b, (unsigned)i,
                  t->g[(row - column) % GPU_N] * t->column[column]);
        c[i] = gpu_float_of(0xffffffff); // NaN
    }
}

// A block of GPU_TILE * GPU_TILE threads computes one tile after the other.
__global__ void gpu_multiply(enum gpu_kind kind, const void *a, const void *b, float *c,
                             unsigned *sm_of_tile)
{
    unsigned y = threadIdx.x / GPU_TILE, x = threadIdx.x % GPU_TILE;
    for (unsigned tile = blockIdx.x; tile < GPU_TILES * GPU_TILES; tile += gridDim.x) {
        unsigned row = tile / GPU_TILES * GPU_TILE + y;
        unsigned column = tile % GPU_TILES * GPU_TILE + x;
        float sum = 0;
        for (unsigned k = 0; k < GPU_N; k++)
            sum += gpu_load(kind, a, row * GPU_N + k) *
                   gpu_load(kind, b, k * GPU_N + column);
        c[row * GPU_N + column] = sum;
        if (threadIdx.x == 0)
            sm_of_tile[tile] = gpu_sm();
    }
}

// place: the element's number; expected and got: bits of floats; sm: that computed it.
__global__ void gpu_verify(const float *c, const struct gpu_tables *t,
                           const unsigned *sm_of_tile, struct gpu_wrong *wrong)
{
    for (size_t i = gpu_first(); i < (size_t)GPU_N * GPU_N; i += gpu_stride()) {
        unsigned row = (unsigned)(i / GPU_N), column = (unsigned)(i % GPU_N);
        float expected = gpu_expected(t, row, column), got = c[i];
        if (got != expected)
            gpu_note(wrong, i, gpu_float_bits(expected), gpu_float_bits(got),
                     sm_of_tile[row / GPU_TILE * GPU_TILES + column / GPU_TILE]);
    }
}

#endif
