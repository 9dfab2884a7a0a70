// The CUDA back end's table: how each kernel is started. nvcc compiles it into cuda.cu, a C
// compiler into the tests, where all kernels run block by block on the CPU.
//
// Includers define GPU_NAME, the back end's, before, and its memory (device_...) after.
#ifndef MUSTER_KERNELS_COMPUTE_CUDA_LAUNCHES_H
#define MUSTER_KERNELS_COMPUTE_CUDA_LAUNCHES_H

#include <stdlib.h>

#include "common/mem.h"
#include "kernels/compute/cuda/attention.h"
#include "kernels/compute/cuda/elements.h"
#include "kernels/compute/cuda/product.h"
#include "kernels/compute/cuda/rows.h"

// All work is in one queue, in order. What goes wrong ends the process with a clear line.
static void *device_alloc(size_t bytes); // zeroed
static void device_free(void *p);
static void *
device_borrow(size_t bytes); // for kernels that are started next; not zeroed
static void device_return(void *p);
static void device_zero(void *p, size_t bytes);
static void device_put(void *to, const void *from_host, size_t bytes);
static void device_get(void *to_host, const void *from, size_t bytes);
static void device_copy(void *to, const void *from, size_t bytes);
static void device_copy_rows(void *to, size_t to_stride, const void *from,
                             size_t from_stride, size_t rows, size_t bytes);
static void device_name(char text[COMPUTE_DEVICE]);
static void device_starting(void);              // the next kernel
static void device_started(const char *kernel); // did the start succeed?

enum { GPU_MOST_BLOCKS = 4096 };

// For kernels whose threads share out `count` elements. Not for none.
static size_t blocks_for(size_t count)
{
    size_t blocks = (count + GPU_THREADS - 1) / GPU_THREADS;
    return blocks < GPU_MOST_BLOCKS ? blocks : GPU_MOST_BLOCKS;
}

// A kernel on as many blocks, if there are any.
#define GPU_RUN(blocks, kernel, ...)                                                   \
    do {                                                                               \
        if ((blocks) > 0) {                                                            \
            device_starting();                                                         \
            GPU_START(blocks, kernel, __VA_ARGS__);                                    \
            device_started(#kernel);                                                   \
        }                                                                              \
    } while (0)

// ---- matrices ---------------------------------------------------------------------

static size_t tiles(size_t lines)
{
    return (lines + GPU_TILE - 1) / GPU_TILE;
}

static void launch_product(struct gpu_product p)
{
    GPU_RUN(tiles(p.rows) * tiles(p.cols), gpu_product, p);
}

static void launch_matmul(float *y, const float *x, const float *w, size_t n, size_t in,
                          size_t out)
{
    struct gpu_product p = {y, {x, in, 1}, {w, in, 1}, n, out, in, true};
    launch_product(p);
}

static void launch_matmul_dx(float *dx, const float *dy, const float *w, size_t n,
                             size_t in, size_t out)
{
    struct gpu_product p = {dx, {dy, out, 1}, {w, 1, in}, n, in, out, false};
    launch_product(p);
}

static void launch_matmul_dw(float *dw, const float *dy, const float *x, size_t n,
                             size_t in, size_t out)
{
    struct gpu_product p = {dw, {dy, 1, out}, {x, 1, in}, out, in, n, false};
    launch_product(p);
}

// ---- embedding --------------------------------------------------------------------

// Tokens and targets are the host's.
static int32_t *borrow_tokens(const int32_t *tokens, size_t n)
{
    int32_t *there = (int32_t *)device_borrow(n * sizeof *there);
    device_put(there, tokens, n * sizeof *there);
    return there;
}

static void launch_embed(float *y, const float *table, const int32_t *tokens, size_t n,
                         size_t dim)
{
    int32_t *there = borrow_tokens(tokens, n);
    GPU_RUN(blocks_for(n * dim), gpu_embed, y, table, there, n, dim);
    device_return(there);
}

static void launch_embed_back(float *dtable, const float *dy, const int32_t *tokens,
                              size_t n, size_t dim)
{
    int32_t *there = borrow_tokens(tokens, n);
    GPU_RUN(blocks_for(dim), gpu_embed_back, dtable, dy, there, n, dim);
    device_return(there);
}

static void launch_add(float *y, const float *x, size_t count)
{
    GPU_RUN(blocks_for(count), gpu_add, y, x, count);
}

// ---- norm, RoPE, SwiGLU -----------------------------------------------------------

static void launch_rmsnorm(float *y, float *rinv, const float *x, const float *w,
                           size_t n, size_t dim)
{
    GPU_RUN(n, gpu_rmsnorm, y, rinv, x, w, dim);
}

static void launch_rmsnorm_back(float *dx, float *dw, const float *dy, const float *x,
                                const float *w, const float *rinv, size_t n, size_t dim)
{
    GPU_RUN(n, gpu_rmsnorm_dx, dx, dy, x, w, rinv, dim);
    GPU_RUN(blocks_for(dim), gpu_rmsnorm_dw, dw, dy, x, rinv, n, dim);
}

static void launch_rope(float *x, const float *table, size_t pos, size_t n,
                        size_t heads, size_t head_dim)
{
    GPU_RUN(blocks_for(n * heads * (head_dim / 2)), gpu_turn, x, table, pos, n, heads,
            head_dim, 1.0F);
}

static void launch_rope_back(float *dx, const float *table, size_t pos, size_t n,
                             size_t heads, size_t head_dim)
{
    GPU_RUN(blocks_for(n * heads * (head_dim / 2)), gpu_turn, dx, table, pos, n, heads,
            head_dim, -1.0F);
}

static void launch_swiglu(float *y, const float *gate, const float *up, size_t count)
{
    GPU_RUN(blocks_for(count), gpu_swiglu, y, gate, up, count);
}

static void launch_swiglu_back(float *dgate, float *dup, const float *dy,
                               const float *gate, const float *up, size_t count)
{
    GPU_RUN(blocks_for(count), gpu_swiglu_back, dgate, dup, dy, gate, up, count);
}

// ---- attention --------------------------------------------------------------------

static void launch_attention(float *out, float *probs, const float *q, const float *k,
                             const float *v, const struct compute_attention *shape)
{
    GPU_RUN(shape->heads * shape->n, gpu_attention, out, probs, q, k, v, *shape);
}

static void launch_attention_back(float *dq, float *dk, float *dv, const float *dout,
                                  const float *probs, const float *q, const float *k,
                                  const float *v, float *scratch,
                                  const struct compute_attention *shape)
{
    (void)scratch; // all rows are under way at once: each has its own
    float *ds = (float *)device_borrow(shape->heads * shape->n * shape->n * sizeof *ds);
    GPU_RUN(shape->heads * shape->n, gpu_attention_dq, dq, ds, dout, probs, k, v,
            *shape);
    GPU_RUN(shape->kv_heads * shape->n, gpu_attention_dkv, dk, dv, dout, probs, q, ds,
            *shape);
    device_return(ds);
}

// ---- softmax, loss, step ----------------------------------------------------------

static void launch_softmax(float *x, size_t n, size_t len)
{
    GPU_RUN(n, gpu_softmax, x, len);
}

static double launch_cross_entropy(float *logits, const int32_t *targets, size_t n,
                                   size_t vocab, float scale)
{
    int32_t *there = borrow_tokens(targets, n);
    double *rows = (double *)device_borrow(n * sizeof *rows), total = 0;
    double *losses = (double *)xcalloc(n, sizeof *losses);
    GPU_RUN(n, gpu_cross_entropy, logits, rows, there, vocab, scale);
    device_get(losses, rows, n * sizeof *rows);
    for (size_t i = 0; i < n; i++)
        total += losses[i];
    free(losses);
    device_return(rows);
    device_return(there);
    return total;
}

static bool launch_fixed_add(int64_t *sum, const float *g, size_t count)
{
    unsigned long long *there = (unsigned long long *)device_borrow(sizeof *there);
    unsigned long long bad = 0;
    device_zero(there, sizeof *there);
    GPU_RUN(blocks_for(count), gpu_fixed_add, sum, g, count, there);
    device_get(&bad, there, sizeof bad);
    device_return(there);
    return bad == 0;
}

static void launch_add_i64(int64_t *sum, const int64_t *part, size_t count)
{
    GPU_RUN(blocks_for(count), gpu_add_i64, sum, part, count);
}

static void launch_fixed_scale(float *g, const int64_t *sum, double scale, size_t count)
{
    GPU_RUN(blocks_for(count), gpu_fixed_scale, g, sum, scale, count);
}

static void launch_squares(double *squares, const float *g, size_t blocks, size_t block)
{
    GPU_RUN(blocks_for(blocks), gpu_squares, squares, g, blocks, block);
}

static void launch_adamw(float *param, float *m, float *v, const float *g, float scale,
                         size_t count, const struct compute_adamw *how)
{
    GPU_RUN(blocks_for(count), gpu_adamw, param, m, v, g, scale, count, *how);
}

static const struct compute launch_table = {
    .name = GPU_NAME,
    .host = false,
    .alloc = device_alloc,
    .free = device_free,
    .put = device_put,
    .get = device_get,
    .zero = device_zero,
    .copy = device_copy,
    .copy_rows = device_copy_rows,
    .device = device_name,
    .matmul = launch_matmul,
    .matmul_dx = launch_matmul_dx,
    .matmul_dw = launch_matmul_dw,
    .embed = launch_embed,
    .embed_back = launch_embed_back,
    .add = launch_add,
    .rmsnorm = launch_rmsnorm,
    .rmsnorm_back = launch_rmsnorm_back,
    .rope = launch_rope,
    .rope_back = launch_rope_back,
    .attention = launch_attention,
    .attention_back = launch_attention_back,
    .swiglu = launch_swiglu,
    .swiglu_back = launch_swiglu_back,
    .softmax = launch_softmax,
    .cross_entropy = launch_cross_entropy,
    .fixed_add = launch_fixed_add,
    .add_i64 = launch_add_i64,
    .fixed_scale = launch_fixed_scale,
    .squares = launch_squares,
    .adamw = launch_adamw,
};

#endif
