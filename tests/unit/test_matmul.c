// Matrix products: each element is the chain that compute.h promises, whatever is beside it.
#include <criterion/criterion.h>

#include "kernels/compute/compute.h"
#include "tests/unit/numbers.h"

struct shape {
    size_t n, in, out;
};

// Edges of tiles and blocks, one less and one more, single rows, and few.
static const struct shape shapes[] = {
    {1, 1, 1},     {1, 300, 40}, {6, 16, 16}, {5, 17, 15}, {7, 256, 33}, {13, 257, 9},
    {12, 31, 257}, {2, 513, 17}, {1, 16, 8},  {1, 15, 9},  {3, 33, 31},  {4, 100, 64},
    {5, 48, 45},   {8, 130, 40}, {9, 64, 32}, {1, 40, 7}};

static void chain(float *y, const float *a, size_t a_row, size_t a_col, const float *b,
                  size_t b_row, size_t b_col, const struct shape *s)
{
    for (size_t i = 0; i < s->n; i++) {
        for (size_t j = 0; j < s->out; j++) {
            for (size_t k = 0; k < s->in; k++)
                y[i * s->out + j] = fmaf(a[i * a_row + k * a_col],
                                         b[k * b_row + j * b_col], y[i * s->out + j]);
        }
    }
}

static void check_products(const struct compute *c, const struct shape *s)
{
    size_t n = s->n, in = s->in, out = s->out;
    CLEANUP_FREE float *x = numbers(1, n * in), *w = numbers(2, out * in),
                       *dy = numbers(3, n * out);
    CLEANUP_FREE float *y = numbers(4, n * out), *want_y = xcalloc(n * out, sizeof *y);
    c->matmul(y, x, w, n, in, out);
    chain(want_y, x, in, 1, w, 1, in, s);
    cr_assert(same_bits(y, want_y, n * out), "%zu %zu %zu: y", n, in, out);

    CLEANUP_FREE float *dx = numbers(5, n * in), *want_dx = numbers(5, n * in);
    c->matmul_dx(dx, dy, w, n, in, out);
    chain(want_dx, dy, out, 1, w, in, 1, &(struct shape){n, out, in});
    cr_assert(same_bits(dx, want_dx, n * in), "%zu %zu %zu: dx", n, in, out);

    CLEANUP_FREE float *dw = numbers(6, out * in), *want_dw = numbers(6, out * in);
    c->matmul_dw(dw, dy, x, n, in, out);
    chain(want_dw, dy, 1, out, x, in, 1, &(struct shape){out, n, in});
    cr_assert(same_bits(dw, want_dw, out * in), "%zu %zu %zu: dw", n, in, out);
}

Test(matmul, products_are_chains)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check_products(compute_cpu(), &shapes[i]);
        check_products(compute_portable(), &shapes[i]);
    }
}

Test(matmul, near_the_product_of_doubles)
{
    enum { N = 9, IN = 300, OUT = 20 };
    CLEANUP_FREE float *x = numbers(1, N * IN), *w = numbers(2, OUT * IN),
                       *y = numbers(3, N * OUT);
    CLEANUP_FREE double *want = xcalloc(N * OUT, sizeof *want);
    for (size_t i = 0; i < N * OUT; i++) {
        for (size_t k = 0; k < IN; k++)
            want[i] += (double)x[i / OUT * IN + k] * (double)w[i % OUT * IN + k];
    }
    compute_cpu()->matmul(y, x, w, N, IN, OUT);
    cr_assert(all_near(y, want, N * OUT, 1e-5));
}

Test(matmul, a_row_is_the_same_alone)
{
    enum { N = 11, IN = 70, OUT = 50 };
    const struct compute *c = compute_cpu();
    CLEANUP_FREE float *x = numbers(1, N * IN), *w = numbers(2, OUT * IN);
    CLEANUP_FREE float *all = numbers(3, N * OUT), *one = numbers(4, OUT);
    c->matmul(all, x, w, N, IN, OUT);
    for (size_t i = 0; i < N; i++) {
        c->matmul(one, x + i * IN, w, 1, IN, OUT);
        cr_assert(same_bits(one, all + i * OUT, OUT), "row %zu", i);
    }
}
