// Matrix products on a GPU: tiles through shared memory, each element one chain over k.
//
// A block computes 64 x 64 elements, a thread 4 x 4 of them in registers; 16 terms of the chain
// at a time lie in shared memory. A chain is never split, and nothing is padded along k
// (s + 0 * 0 is not s where s is -0).
#ifndef MUSTER_KERNELS_COMPUTE_CUDA_PRODUCT_H
#define MUSTER_KERNELS_COMPUTE_CUDA_PRODUCT_H

#include "kernels/compute/cuda/words.h"

enum {
    GPU_TILE = 64, // lines of a and of b
    GPU_EACH = 4,  // of them, a thread's; 16 x 16 threads
    GPU_STEP = 16, // of k
    GPU_ROOM = GPU_TILE + 4,
};

// Lines of a matrix along k: element (i, k) is at[i * line + k * k_step].
struct gpu_lines {
    const float *at;
    size_t line, k_step;
};

// c[rows][cols]: element (i, j) goes on with the chain over a(i, k) b(j, k).
struct gpu_product {
    float *c;
    struct gpu_lines a, b;
    size_t rows, cols, k;
    bool fresh; // begins with 0, not with what c holds
};

// GPU_STEP terms of GPU_TILE lines from (line, k) on. Neighbouring threads read neighbouring
// floats, along k or across. Beyond the matrix: zeros, in elements that nobody stores.
__device__ inline void product_load(float to[GPU_STEP][GPU_ROOM], struct gpu_lines m,
                                    size_t line, size_t lines, size_t k, size_t end)
{
    GPU_UNROLL
    for (unsigned turn = 0; turn < GPU_TILE * GPU_STEP / GPU_THREADS; turn++) {
        unsigned e = turn * GPU_THREADS + threadIdx.x;
        unsigned i = m.k_step == 1 ? e / GPU_STEP : e % GPU_TILE;
        unsigned x = m.k_step == 1 ? e % GPU_STEP : e / GPU_TILE;
        bool inside = line + i < lines && k + x < end;
        to[x][i] = inside ? m.at[(line + i) * m.line + (k + x) * m.k_step] : 0.0F;
    }
}

struct gpu_sums {
    float s[GPU_EACH][GPU_EACH];
};

__device__ inline void product_term(struct gpu_sums *sums, const float *a,
                                    const float *b)
{
    float x[GPU_EACH], y[GPU_EACH];
    GPU_UNROLL
    for (int i = 0; i < GPU_EACH; i++) {
        x[i] = a[threadIdx.x / 16 * GPU_EACH + (unsigned)i];
        y[i] = b[threadIdx.x % 16 * GPU_EACH + (unsigned)i];
    }
    GPU_UNROLL
    for (int i = 0; i < GPU_EACH; i++) {
        GPU_UNROLL
        for (int j = 0; j < GPU_EACH; j++)
            sums->s[i][j] = fmaf(x[i], y[j], sums->s[i][j]);
    }
}

__device__ inline void product_step(struct gpu_sums *sums, float a[GPU_STEP][GPU_ROOM],
                                    float b[GPU_STEP][GPU_ROOM], size_t k)
{
    if (k >= GPU_STEP) {
        GPU_UNROLL
        for (int x = 0; x < GPU_STEP; x++)
            product_term(sums, a[x], b[x]);
    } else {
        for (size_t x = 0; x < k; x++)
            product_term(sums, a[x], b[x]);
    }
}

// This thread's elements, of the tile at (i0, j0): from c, or into it.
__device__ inline void product_move(const struct gpu_product *p, struct gpu_sums *sums,
                                    size_t i0, size_t j0, bool store)
{
    GPU_UNROLL
    for (int i = 0; i < GPU_EACH; i++) {
        GPU_UNROLL
        for (int j = 0; j < GPU_EACH; j++) {
            size_t row = i0 + threadIdx.x / 16 * GPU_EACH + (unsigned)i;
            size_t col = j0 + threadIdx.x % 16 * GPU_EACH + (unsigned)j;
            bool inside = row < p->rows && col < p->cols;
            if (store && inside)
                p->c[row * p->cols + col] = sums->s[i][j];
            if (!store)
                sums->s[i][j] = inside && !p->fresh ? p->c[row * p->cols + col] : 0.0F;
        }
    }
}

// One tile a block.
__global__ void gpu_product(struct gpu_product p)
{
    GPU_SHARED __align__(16) float a[GPU_STEP][GPU_ROOM];
    GPU_SHARED __align__(16) float b[GPU_STEP][GPU_ROOM];
    GPU_OWN(struct gpu_sums, sums);
    size_t across = (p.cols + GPU_TILE - 1) / GPU_TILE;
    size_t i0 = blockIdx.x / across * GPU_TILE, j0 = blockIdx.x % across * GPU_TILE;
    GPU_EACH_THREAD
    {
        product_move(&p, &sums[GPU_ME], i0, j0, false);
    }
    for (size_t k = 0; k < p.k; k += GPU_STEP) {
        GPU_EACH_THREAD
        {
            product_load(a, p.a, i0, p.rows, k, p.k);
            product_load(b, p.b, j0, p.cols, k, p.k);
        }
        GPU_EACH_THREAD
        {
            product_step(&sums[GPU_ME], a, b, p.k - k);
        }
    }
    GPU_EACH_THREAD
    {
        product_move(&p, &sums[GPU_ME], i0, j0, true);
    }
}

#endif
