// What a rank computes: one table of kernels a back end (CPU here; CUDA has the same table).
//
// All is float32, one thread a rank. Every kernel gives the same bits for a row whatever other
// rows are computed with it, on every machine and at every vector width, because the order of
// each sum is part of its contract:
//
//   chain   s = 0; for k = 0, 1, ...: s = fma(a[k], b[k], s). One rounding a term. Blocks of
//           rows, columns and k change nothing: a block goes on with the s of the one before.
//   lanes   COMPUTE_LANES chains, k to lane k % COMPUTE_LANES; then lane j gets lane j + 8
//           added, then j + 4, j + 2, j + 1. Where k runs over what lies side by side.
//
// Nothing but what is written as fma is contracted, and exp and log are ours (math.h's are not the
// same everywhere); divisions and square roots are IEEE's.
//
// Matrices are dense and row-major. A weight w[out][in] has a row for each output, as in
// llama2.c. "+=" below: the result is added to what is there (its chain goes on from it where
// that is said). Buffers never overlap unless it is said. Pointers are to the back end's
// memory (alloc); tokens and targets to the host's.
#ifndef MUSTER_KERNELS_COMPUTE_COMPUTE_H
#define MUSTER_KERNELS_COMPUTE_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { COMPUTE_LANES = 16, COMPUTE_DEVICE = 64 };

// n new positions of one sequence, from `pos` on, that look at all before and at themselves.
struct compute_attention {
    size_t n, pos;
    size_t heads, kv_heads, head_dim; // heads is a multiple of kv_heads
    size_t stride;                    // floats of a row of probabilities, >= pos + n
};

struct compute_adamw {
    float lr, beta1, beta2, eps, decay;
    float correct1, correct2; // 1 / (1 - beta^step)
};

struct compute {
    const char *name;

    // ---- memory: zeroed, 64-byte aligned; aborts when there is none
    bool host; // it is the host's: put and get are for others
    void *(*alloc)(size_t bytes);
    void (*free)(void *p);
    void (*put)(void *to, const void *from_host, size_t bytes);
    void (*get)(void *to_host, const void *from, size_t bytes);
    void (*zero)(void *p, size_t bytes);
    void (*copy)(void *to, const void *from, size_t bytes); // within
    // `rows` pieces of `bytes`, which begin so many bytes after each other there and here
    void (*copy_rows)(void *to, size_t to_stride, const void *from, size_t from_stride,
                      size_t rows, size_t bytes);
    // Which device it is: the same text in all processes that use it, "" the host.
    void (*device)(char text[COMPUTE_DEVICE]);

    // ---- matrices: x[n][in], w[out][in], y[n][out]
    // y = x w^T, a chain over in.
    void (*matmul)(float *y, const float *x, const float *w, size_t n, size_t in,
                   size_t out);
    // dx += dy w, a chain over out that goes on from dx.
    void (*matmul_dx)(float *dx, const float *dy, const float *w, size_t n, size_t in,
                      size_t out);
    // dw += dy^T x, a chain over n that goes on from dw.
    void (*matmul_dw)(float *dw, const float *dy, const float *x, size_t n, size_t in,
                      size_t out);

    // ---- embedding: y[n][dim] = table[tokens[i]], and its gradient in the order of rows
    void (*embed)(float *y, const float *table, const int32_t *tokens, size_t n,
                  size_t dim);
    void (*embed_back)(float *dtable, const float *dy, const int32_t *tokens, size_t n,
                       size_t dim);
    void (*add)(float *y, const float *x, size_t count); // y += x

    // ---- RMSNorm: y = x * r * w, r = 1 / sqrt(mean(x^2) + 1e-5), lanes; rinv[n] keeps r.
    // y may be x.
    void (*rmsnorm)(float *y, float *rinv, const float *x, const float *w, size_t n,
                    size_t dim);
    // dx +=, dw +=
    void (*rmsnorm_back)(float *dx, float *dw, const float *dy, const float *x,
                         const float *w, const float *rinv, size_t n, size_t dim);

    // ---- RoPE in place on x[n][heads][head_dim]: pairs (2i, 2i + 1) turn by the angle of their
    // position: fma(a, cos, -(b sin)), fma(a, sin, b cos). table[seq_len][head_dim / 2][2]
    // has cos and sin (kernels/model/rope.h).
    void (*rope)(float *x, const float *table, size_t pos, size_t n, size_t heads,
                 size_t head_dim);
    void (*rope_back)(float *dx, const float *table, size_t pos, size_t n, size_t heads,
                      size_t head_dim);

    // ---- causal grouped-query attention: out[n][heads][head_dim], q the same; k and v (the
    // cache) [pos + n][kv_heads][head_dim], with the new positions' rows in place. Scores are
    // lanes over head_dim times 1 / sqrt(head_dim), softmax as below, the sum over positions a
    // chain. probs[heads][n][stride] is written (backward reads it); what lies beyond a row's
    // own position is left alone.
    void (*attention)(float *out, float *probs, const float *q, const float *k,
                      const float *v, const struct compute_attention *shape);
    // pos must be 0. dq, dk, dv +=. scratch: `stride` floats.
    void (*attention_back)(float *dq, float *dk, float *dv, const float *dout,
                           const float *probs, const float *q, const float *k,
                           const float *v, float *scratch,
                           const struct compute_attention *shape);

    // ---- SwiGLU: y = gate * sigmoid(gate) * up. Backward sets; dgate and dup may be dy.
    void (*swiglu)(float *y, const float *gate, const float *up, size_t count);
    void (*swiglu_back)(float *dgate, float *dup, const float *dy, const float *gate,
                        const float *up, size_t count);

    // ---- softmax of each row of x[n][len], in place: maximum, exp, sum by lanes, times 1/sum
    void (*softmax)(float *x, size_t n, size_t len);
    // Returns the sum over rows, in their order, of -log p(target). logits[n][vocab] becomes
    // its gradient times scale.
    double (*cross_entropy)(float *logits, const int32_t *targets, size_t n,
                            size_t vocab, float scale);

    // ---- the step
    // sum[i] += g[i] times 2^COMPUTE_FIXED_BITS, rounded to nearest even. False: some g is
    // not below COMPUTE_FIXED_MAX (or is no number); sum is spoilt then.
    bool (*fixed_add)(int64_t *sum, const float *g, size_t count);
    void (*add_i64)(int64_t *sum, const int64_t *part, size_t count); // sum += part
    // g = sum * scale, in double, rounded to float
    void (*fixed_scale)(float *g, const int64_t *sum, double scale, size_t count);
    // squares[b]: the sum of g^2 over the b-th `block` floats, a chain in double
    void (*squares)(double *squares, const float *g, size_t blocks, size_t block);
    // One AdamW step with gradient g * scale. The decay is of the parameter before the step.
    void (*adamw)(float *param, float *m, float *v, const float *g, float scale,
                  size_t count, const struct compute_adamw *how);
};

// 2^40 a unit: sums of 4,000 samples' gradients, each below 1024, fit into an int64 with room.
enum { COMPUTE_FIXED_BITS = 40, COMPUTE_FIXED_MAX = 1024 };

// The CPU's; uses FMA instructions where there are some.
const struct compute *compute_cpu(void);
// The same in plain C, for machines without, and for tests: the same bits, slowly.
const struct compute *compute_portable(void);

// A GPU's (cuda/): the same bits as the CPU's. `which` counts the GPUs that this process may use,
// from 0, and begins again behind the last. NULL with err set where it could not run: no
// driver, no GPU, or a build without nvcc. What fails later ends the process with a line on stderr.
const struct compute *compute_cuda(unsigned which, struct err *err);

enum compute_kind { COMPUTE_CPU, COMPUTE_CUDA };
// The name of one: false where there is none of it.
bool compute_kind_parse(enum compute_kind *kind, const char *name);
// This rank's: of GPUs, the one of its number on this node (LOCAL_RANK, or Open MPI's).
const struct compute *compute_open(enum compute_kind kind, struct err *err);

#endif
