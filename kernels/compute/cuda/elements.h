// What a GPU computes element by element: sums, embedding, RoPE, SwiGLU, the optimizer's step.
#ifndef MUSTER_KERNELS_COMPUTE_CUDA_ELEMENTS_H
#define MUSTER_KERNELS_COMPUTE_CUDA_ELEMENTS_H

#include "kernels/compute/compute.h"
#include "kernels/compute/cuda/rows.h"
#include "kernels/compute/cuda/words.h"
#include "kernels/compute/scalar.h"

__global__ void gpu_add(float *y, const float *x, size_t count)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(i, count)
        y[i] += x[i];
    }
}

// ---- embedding --------------------------------------------------------------------

__global__ void gpu_embed(float *y, const float *table, const int32_t *tokens, size_t n,
                          size_t dim)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(i, n * dim)
        y[i] = table[(size_t)tokens[i / dim] * dim + i % dim];
    }
}

// A thread a column: rows of one token are added in their order.
__global__ void gpu_embed_back(float *dtable, const float *dy, const int32_t *tokens,
                               size_t n, size_t dim)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(d, dim)
        {
            for (size_t i = 0; i < n; i++)
                dtable[(size_t)tokens[i] * dim + d] += dy[i * dim + d];
        }
    }
}

// ---- RoPE -------------------------------------------------------------------------

// way: 1 turns, -1 turns back.
__global__ void gpu_turn(float *x, const float *table, size_t pos, size_t n,
                         size_t heads, size_t head_dim, float way)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(pair, n * heads * (head_dim / 2))
        {
            size_t at = 2 * pair, d = at % head_dim, i = at / (heads * head_dim);
            const float *row = table + (pos + i) * head_dim;
            float a = x[at], b = x[at + 1], c = row[d], s = way * row[d + 1];
            x[at] = fmaf(a, c, -(b * s));
            x[at + 1] = fmaf(a, s, b * c);
        }
    }
}

// ---- SwiGLU -----------------------------------------------------------------------

__device__ inline float gpu_sigmoid(float x)
{
    return 1 / (1 + gpu_exp(-x));
}

__global__ void gpu_swiglu(float *y, const float *gate, const float *up, size_t count)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(i, count)
        y[i] = gate[i] * gpu_sigmoid(gate[i]) * up[i];
    }
}

__global__ void gpu_swiglu_back(float *dgate, float *dup, const float *dy,
                                const float *gate, const float *up, size_t count)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(i, count)
        {
            float d = dy[i], g = gate[i], u = up[i], s = gpu_sigmoid(g);
            dup[i] = d * (g * s);
            dgate[i] = d * u * (s * (1 + g * (1 - s)));
        }
    }
}

// ---- the step ---------------------------------------------------------------------

// bad counts what is no gradient.
__global__ void gpu_fixed_add(int64_t *sum, const float *g, size_t count,
                              unsigned long long *bad)
{
    const double unit = (double)(INT64_C(1) << COMPUTE_FIXED_BITS);
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(i, count)
        {
            if (!(fabsf(g[i]) < COMPUTE_FIXED_MAX))
                atomicAdd(bad, 1);
            sum[i] = scalar_fixed_add(sum[i], g[i], unit);
        }
    }
}

__global__ void gpu_add_i64(int64_t *sum, const int64_t *part, size_t count)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(i, count)
        sum[i] = scalar_add_i64(sum[i], part[i]);
    }
}

__global__ void gpu_fixed_scale(float *g, const int64_t *sum, double scale,
                                size_t count)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(i, count)
        g[i] = (float)((double)sum[i] * scale);
    }
}

// A thread a sum, which is a chain.
__global__ void gpu_squares(double *squares, const float *g, size_t blocks,
                            size_t block)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(b, blocks)
        squares[b] = scalar_squares(g + b * block, block);
    }
}

__global__ void gpu_adamw(float *param, float *m, float *v, const float *g, float scale,
                          size_t count, struct compute_adamw a)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(i, count)
        scalar_adamw(param + i, m + i, v + i, g[i] * scale, &a);
    }
}

#endif
