// Attention on a GPU: a block a head and position forward; backward first the scores'
// gradients, then those of keys and values, each a chain in the order of the CPU's.
#ifndef MUSTER_KERNELS_COMPUTE_CUDA_ATTENTION_H
#define MUSTER_KERNELS_COMPUTE_CUDA_ATTENTION_H

#include "kernels/compute/compute.h"
#include "kernels/compute/cuda/rows.h"
#include "kernels/compute/cuda/words.h"

// Where a head's part lies, and how far it is from a position to the next.
struct gpu_head {
    size_t q, kv, q_step, kv_step;
    float scale;
};

__device__ inline struct gpu_head gpu_head_of(const struct compute_attention *s,
                                              size_t head)
{
    struct gpu_head h = {head * s->head_dim,
                         head / (s->heads / s->kv_heads) * s->head_dim,
                         s->heads * s->head_dim, s->kv_heads * s->head_dim,
                         1.0F / sqrtf((float)s->head_dim)};
    return h;
}

// y[0..dim) goes on with p[s] * rows[s][0..dim), s = 0 to n - 1; fresh: from 0. In a region.
__device__ inline void gpu_chain_rows(float *y, const float *p, const float *rows,
                                      size_t step, size_t n, size_t dim, bool fresh)
{
    GPU_EACH_OF_BLOCK(d, dim)
    {
        float sum = fresh ? 0.0F : y[d];
        for (size_t s = 0; s < n; s++)
            sum = fmaf(p[s], rows[s * step + d], sum);
        y[d] = sum;
    }
}

__global__ void gpu_attention(float *out, float *probs, const float *q, const float *k,
                              const float *v, struct compute_attention shape)
{
    GPU_SHARED struct gpu_row row;
    size_t head = blockIdx.x / shape.n, t = blockIdx.x % shape.n;
    struct gpu_head h = gpu_head_of(&shape, head);
    size_t seen = shape.pos + t + 1, at = h.q + t * h.q_step;
    float *p = probs + (head * shape.n + t) * shape.stride;
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_BLOCK(s, seen)
        p[s] = gpu_dot(q + at, k + h.kv + s * h.kv_step, shape.head_dim) * h.scale;
    }
    row_softmax(&row, p, seen);
    GPU_EACH_THREAD
    {
        gpu_chain_rows(out + at, p, v + h.kv, h.kv_step, seen, shape.head_dim, true);
    }
}

// ds[heads][n][n]: the scores' gradients; and with them dq.
__global__ void gpu_attention_dq(float *dq, float *ds, const float *dout,
                                 const float *probs, const float *k, const float *v,
                                 struct compute_attention shape)
{
    GPU_SHARED struct gpu_row row;
    size_t head = blockIdx.x / shape.n, t = blockIdx.x % shape.n, seen = t + 1;
    struct gpu_head h = gpu_head_of(&shape, head);
    size_t at = h.q + t * h.q_step;
    const float *p = probs + (head * shape.n + t) * shape.stride;
    float *d = ds + (head * shape.n + t) * shape.n;
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_BLOCK(s, seen)
        d[s] = gpu_dot(dout + at, v + h.kv + s * h.kv_step, shape.head_dim);
    }
    float mean = row_sum(&row, p, d, NULL, seen);
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_BLOCK(s, seen)
        d[s] = p[s] * (d[s] - mean) * h.scale;
    }
    GPU_EACH_THREAD
    {
        gpu_chain_rows(dq + at, d, k + h.kv, h.kv_step, seen, shape.head_dim, false);
    }
}

// A block a head of keys and position: over its group's heads, then over the positions that see it.
__global__ void gpu_attention_dkv(float *dk, float *dv, const float *dout,
                                  const float *probs, const float *q, const float *ds,
                                  struct compute_attention shape)
{
    size_t kv_head = blockIdx.x / shape.n, s = blockIdx.x % shape.n;
    size_t group = shape.heads / shape.kv_heads, first = kv_head * group;
    GPU_EACH_THREAD
    {
        GPU_EACH_OF_BLOCK(x, shape.head_dim)
        {
            size_t at = (s * shape.kv_heads + kv_head) * shape.head_dim + x;
            float key = dk[at], value = dv[at];
            for (size_t head = first; head < first + group; head++) {
                for (size_t t = s; t < shape.n; t++) {
                    size_t line = head * shape.n + t;
                    size_t from = (t * shape.heads + head) * shape.head_dim + x;
                    key = fmaf(ds[line * shape.n + s], q[from], key);
                    value = fmaf(probs[line * shape.stride + s], dout[from], value);
                }
            }
            dk[at] = key;
            dv[at] = value;
        }
    }
}

#endif
