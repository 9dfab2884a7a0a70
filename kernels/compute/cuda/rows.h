// What a GPU computes row by row, one block a row: lanes of sums, norm, softmax, loss.
#ifndef MUSTER_KERNELS_COMPUTE_CUDA_ROWS_H
#define MUSTER_KERNELS_COMPUTE_CUDA_ROWS_H

#include "kernels/compute/compute.h"
#include "kernels/compute/cuda/words.h"
#include "kernels/compute/scalar.h"

__device__ inline int32_t gpu_int_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

__device__ inline float gpu_float_of_int(int32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define NUMBER            float
#define INTEGER           int32_t
#define EXP_FN            __device__ inline float gpu_exp
#define ALL(x)            ((float)(x))
#define FMA               fmaf
#define PICK(holds, a, b) ((holds) ? (a) : (b))
#define BITS              gpu_int_of
#define NUMBER_OF         gpu_float_of_int
#include "kernels/compute/exp.inc"

// ---- sums by lanes ----------------------------------------------------------------

// Lane j gets lane j + 8, then j + 4, j + 2, j + 1.
__device__ inline float gpu_tree(const float *lane)
{
    float v[COMPUTE_LANES / 2];
    GPU_UNROLL
    for (int j = 0; j < COMPUTE_LANES / 2; j++)
        v[j] = lane[j] + lane[j + COMPUTE_LANES / 2];
    GPU_UNROLL
    for (int j = 0; j < 4; j++)
        v[j] += v[j + 4];
    v[0] += v[2];
    v[1] += v[3];
    return v[0] + v[1];
}

// One thread's: the sum of a[k] * b[k].
__device__ inline float gpu_dot(const float *a, const float *b, size_t n)
{
    float s[COMPUTE_LANES] = {0};
    size_t k = 0;
    for (; k + COMPUTE_LANES <= n; k += COMPUTE_LANES) {
        GPU_UNROLL
        for (int j = 0; j < COMPUTE_LANES; j++)
            s[j] = fmaf(a[k + (size_t)j], b[k + (size_t)j], s[j]);
    }
    GPU_UNROLL
    for (int j = 0; j < COMPUTE_LANES; j++) {
        if (k + (size_t)j < n)
            s[j] = fmaf(a[k + (size_t)j], b[k + (size_t)j], s[j]);
    }
    return gpu_tree(s);
}

// A block's, in shared memory, while it is at one row. All functions row_...: called by the
// whole block, outside of regions, and the next region writes none of this.
struct gpu_row {
    float part[GPU_THREADS];
    float lane[COMPUTE_LANES];
};

// The sum of a[k] * b[k] * c[k], where b and c may be NULL (1); a * b is rounded if c is given.
__device__ inline float row_sum(struct gpu_row *r, const float *a, const float *b,
                                const float *c, size_t n)
{
    GPU_EACH_THREAD
    {
        if (threadIdx.x < COMPUTE_LANES) {
            float s = 0;
            for (size_t k = threadIdx.x; k < n; k += COMPUTE_LANES) {
                float x = c != NULL ? a[k] * b[k] : a[k];
                s = c != NULL ? fmaf(x, c[k], s) : b != NULL ? fmaf(x, b[k], s) : s + x;
            }
            r->lane[threadIdx.x] = s;
        }
    }
    return gpu_tree(r->lane);
}

__device__ inline float gpu_larger(float a, float b)
{
    return b > a ? b : a;
}

__device__ inline float row_max(struct gpu_row *r, const float *x, size_t n)
{
    GPU_EACH_THREAD
    {
        float max = x[0];
        GPU_EACH_OF_BLOCK(i, n)
        max = gpu_larger(max, x[i]);
        r->part[threadIdx.x] = max;
    }
    GPU_EACH_THREAD
    {
        if (threadIdx.x < COMPUTE_LANES) {
            float max = r->part[threadIdx.x];
            for (unsigned i = threadIdx.x; i < GPU_THREADS; i += COMPUTE_LANES)
                max = gpu_larger(max, r->part[i]);
            r->lane[threadIdx.x] = max;
        }
    }
    float max = r->lane[0];
    for (int j = 1; j < COMPUTE_LANES; j++)
        max = gpu_larger(max, r->lane[j]);
    return max;
}

// x = exp(x - max); returns their sum.
__device__ inline float row_exp(struct gpu_row *r, float *x, float max, size_t n)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_BLOCK(i, n)
        x[i] = gpu_exp(x[i] - max);
    }
    return row_sum(r, x, NULL, NULL, n);
}

__device__ inline void row_softmax(struct gpu_row *r, float *x, size_t n)
{
    float max = row_max(r, x, n);
    float scale = 1 / row_exp(r, x, max, n);
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_BLOCK(i, n)
        x[i] *= scale;
    }
}

// ---- softmax and the loss ---------------------------------------------------------

__global__ void gpu_softmax(float *x, size_t len)
{
    GPU_SHARED struct gpu_row r;
    row_softmax(&r, x + blockIdx.x * len, len);
}

// loss: a row's.
__global__ void gpu_cross_entropy(float *logits, double *loss, const int32_t *targets,
                                  size_t vocab, float scale)
{
    GPU_SHARED struct gpu_row r;
    float *x = logits + blockIdx.x * vocab;
    size_t target = (size_t)targets[blockIdx.x];
    double right = (double)x[target];
    float max = row_max(&r, x, vocab);
    float sum = row_exp(&r, x, max, vocab), inverse = 1 / sum;
    GPU_EACH_THREAD
    {
        if (threadIdx.x == 0)
            loss[blockIdx.x] = scalar_log((double)sum) - (right - (double)max);
        GPU_EACH_OF_BLOCK(j, vocab)
        {
            float gradient = x[j] * inverse * scale;
            x[j] = j == target ? gradient - scale : gradient;
        }
    }
}

// ---- norm -------------------------------------------------------------------------

__global__ void gpu_rmsnorm(float *y, float *rinv, const float *x, const float *w,
                            size_t dim)
{
    GPU_SHARED struct gpu_row row;
    x += blockIdx.x * dim;
    y += blockIdx.x * dim;
    float r = 1 / sqrtf(row_sum(&row, x, x, NULL, dim) / (float)dim + 1e-5F);
    GPU_EACH_THREAD
    {
        if (threadIdx.x == 0)
            rinv[blockIdx.x] = r;
        GPU_EACH_OF_BLOCK(d, dim)
        y[d] = w[d] * (r * x[d]);
    }
}

__global__ void gpu_rmsnorm_dx(float *dx, const float *dy, const float *x,
                               const float *w, const float *rinv, size_t dim)
{
    GPU_SHARED struct gpu_row row;
    x += blockIdx.x * dim;
    dx += blockIdx.x * dim;
    dy += blockIdx.x * dim;
    float r = rinv[blockIdx.x];
    float pull = row_sum(&row, dy, w, x, dim) * r * r * r / (float)dim;
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_BLOCK(d, dim)
        dx[d] += r * (dy[d] * w[d]) - x[d] * pull;
    }
}

// A thread a column: the sum over rows has their order.
__global__ void gpu_rmsnorm_dw(float *dw, const float *dy, const float *x,
                               const float *rinv, size_t n, size_t dim)
{
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_GRID(d, dim)
        {
            float s = dw[d];
            for (size_t i = 0; i < n; i++)
                s += dy[i * dim + d] * (rinv[i] * x[i * dim + d]);
            dw[d] = s;
        }
    }
}

#endif
