// Matrix products: one blocked loop over packed operands for all three of them.
//
// Included by compute/table.c alone. Every element of the product is one chain over k: a tile of 6
// rows and 16 columns keeps its chains in registers for a block of k, and takes them up from
// memory in the next. So neither the blocks nor the rows beside it change an element's bits. Few
// rows are not worth the packing (few.h).
#ifndef MUSTER_KERNELS_COMPUTE_MATMUL_H
#define MUSTER_KERNELS_COMPUTE_MATMUL_H

#include "kernels/compute/few.h"
#include "kernels/compute/order.h"

enum {
    TILE_ROWS = 6, // with two vectors a row: 12 accumulators of AVX's 16 registers
    TILE_COLS = 2 * VEC,
    BLOCK_K = 256,    // a packed strip of rows: 6 KiB, of columns: 16 KiB, both in L1
    BLOCK_COLS = 256, // packed columns: 256 KiB, in L2
};

// A matrix: element (i, j) is at[i * row + j * col].
struct view {
    const float *at;
    size_t row, col;
};

static inline struct view view_from(struct view v, size_t i, size_t j)
{
    v.at += i * v.row + j * v.col;
    return v;
}

struct product {
    float *c; // dense, `cols` floats a row
    struct view a, b;
    size_t rows, cols, k;
    bool fresh; // begins with 0, not with what c holds
};

// 16 lines that lie along k: 8 by 8.
static void pack_turned(float *restrict out, struct view v, size_t k)
{
    size_t x = 0;
    for (; x + VEC <= k; x += VEC) {
        vec_turn(out + x * TILE_COLS, TILE_COLS, v.at + x, v.row);
        vec_turn(out + x * TILE_COLS + VEC, TILE_COLS, v.at + VEC * v.row + x, v.row);
    }
    for (; x < k; x++) {
        for (size_t i = 0; i < TILE_COLS; i++)
            out[x * TILE_COLS + i] = v.at[i * v.row + x];
    }
}

// `wide` lines of v beside each other: out[k * wide + i] = v(i, k); beyond n: zeros.
static inline __attribute__((always_inline)) void
pack(float *restrict out, struct view v, size_t n, size_t k, size_t wide)
{
    if (n == wide && v.row == 1) {
        for (size_t x = 0; x < k; x++)
            memcpy(out + x * wide, v.at + x * v.col, wide * sizeof *out);
        return;
    }
    if (n == wide && wide == TILE_COLS && v.col == 1) {
        pack_turned(out, v, k);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const float *from = v.at + i * v.row;
        for (size_t x = 0; x < k; x++)
            out[x * wide + i] = from[x * v.col];
    }
    for (size_t i = n; i < wide; i++) {
        for (size_t x = 0; x < k; x++)
            out[x * wide + i] = 0;
    }
}

// c[6][16] goes on with k terms of packed a and b.
static inline void tile(float *restrict c, size_t stride, const float *restrict a,
                        const float *restrict b, size_t k)
{
    vec s[TILE_ROWS][2];
#pragma GCC unroll 6
    for (size_t i = 0; i < TILE_ROWS; i++) {
        s[i][0] = vec_load(c + i * stride);
        s[i][1] = vec_load(c + i * stride + VEC);
    }
    for (; k > 0; k--, a += TILE_ROWS, b += TILE_COLS) {
        vec b0 = vec_load(b), b1 = vec_load(b + VEC);
#pragma GCC unroll 6
        for (size_t i = 0; i < TILE_ROWS; i++) {
            vec x = vec_all(a[i]);
            s[i][0] = vec_fma(x, b0, s[i][0]);
            s[i][1] = vec_fma(x, b1, s[i][1]);
        }
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < TILE_ROWS; i++) {
        vec_store(c + i * stride, s[i][0]);
        vec_store(c + i * stride + VEC, s[i][1]);
    }
}

// A tile that the matrix's edge cuts: through a whole one beside it.
static void tile_cut(float *c, size_t stride, const float *a, const float *b, size_t k,
                     size_t rows, size_t cols)
{
    float whole[TILE_ROWS * TILE_COLS] = {0};
    for (size_t i = 0; i < rows; i++)
        memcpy(whole + i * TILE_COLS, c + i * stride, cols * sizeof *c);
    tile(whole, TILE_COLS, a, b, k);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * stride, whole + i * TILE_COLS, cols * sizeof *c);
}

// One strip of up to 6 rows against the packed columns j0 to j0 + n.
static void strip(const struct product *p, size_t i0, size_t j0, size_t n,
                  const float *a, const float *b, size_t k)
{
    size_t rows = least(TILE_ROWS, p->rows - i0);
    for (size_t j = 0; j < n; j += TILE_COLS, b += k * TILE_COLS) {
        float *c = p->c + i0 * p->cols + j0 + j;
        size_t cols = least(TILE_COLS, n - j);
        if (rows == TILE_ROWS && cols == TILE_COLS)
            tile(c, p->cols, a, b, k);
        else
            tile_cut(c, p->cols, a, b, k, rows, cols);
    }
}

static void product_block(const struct product *p, size_t j0, size_t n, size_t k0,
                          size_t k)
{
    float a[TILE_ROWS * BLOCK_K] __attribute__((aligned(64)));
    float b[BLOCK_COLS * BLOCK_K] __attribute__((aligned(64)));
    for (size_t j = 0; j < n; j += TILE_COLS) {
        struct view v = view_from(p->b, k0, j0 + j);
        struct view turned = {v.at, v.col, v.row};
        pack(b + j * k, turned, least(TILE_COLS, n - j), k, TILE_COLS);
    }
    for (size_t i = 0; i < p->rows; i += TILE_ROWS) {
        pack(a, view_from(p->a, i, k0), least(TILE_ROWS, p->rows - i), k, TILE_ROWS);
        strip(p, i, j0, n, a, b, k);
    }
}

static void product_run(const struct product *p)
{
    if (p->fresh)
        memset(p->c, 0, p->rows * p->cols * sizeof *p->c);
    for (size_t j = 0; j < p->cols; j += BLOCK_COLS) {
        for (size_t k = 0; k < p->k; k += BLOCK_K)
            product_block(p, j, least(BLOCK_COLS, p->cols - j), k,
                          least(BLOCK_K, p->k - k));
    }
}

static void matmul(float *y, const float *x, const float *w, size_t n, size_t in,
                   size_t out)
{
    if (few_can(n, out)) {
        few_matmul(y, x, w, n, in, out);
        return;
    }
    product_run(&(struct product){.c = y,
                                  .a = {x, in, 1},
                                  .b = {w, 1, in},
                                  .rows = n,
                                  .cols = out,
                                  .k = in,
                                  .fresh = true});
}

static void matmul_dx(float *dx, const float *dy, const float *w, size_t n, size_t in,
                      size_t out)
{
    product_run(&(struct product){
        .c = dx, .a = {dy, out, 1}, .b = {w, in, 1}, .rows = n, .cols = in, .k = out});
}

static void matmul_dw(float *dw, const float *dy, const float *x, size_t n, size_t in,
                      size_t out)
{
    product_run(&(struct product){
        .c = dw, .a = {dy, 1, out}, .b = {x, in, 1}, .rows = out, .cols = in, .k = n});
}

#endif
