// Hankel matrices, their products in floats, and what these must be in integers.
#include "kernels/check/product.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/check/clones.h"
#include "kernels/check/pattern.h"

enum { N = PRODUCT_N, EXPONENTS = 8 };

static const struct kind {
    const char *name;
    size_t size;
    int64_t limit; // of an integer's size: N * limit * limit fits the fraction
} kinds[PRODUCT_KINDS] = {
    [PRODUCT_FP32] = {"fp32", sizeof(float), 255},
    [PRODUCT_FP64] = {"fp64", sizeof(double), 4000000},
};

struct product {
    enum product_kind kind;
    void *a, *b, *c; // borrowed
    int64_t f[N], g[N], h[N];
    double row_scale[N], column_scale[N];
};

size_t product_bytes(enum product_kind kind)
{
    return (size_t)3 * N * N * kinds[kind].size;
}

const char *product_name(enum product_kind kind)
{
    return kinds[kind].name;
}

struct product *product_create(enum product_kind kind, void *memory)
{
    struct product *p = xcalloc(1, sizeof *p);
    size_t bytes = (size_t)N * N * kinds[kind].size;
    p->kind = kind;
    p->c = memory;
    p->a = (char *)memory + bytes;
    p->b = (char *)memory + 2 * bytes;
    return p;
}

void product_destroy(struct product *p)
{
    free(p);
}

// 2^-EXPONENTS .. 2^(EXPONENTS - 1)
static double scale(uint64_t bits)
{
    double s = 1;
    for (unsigned i = (unsigned)(bits % ((uint64_t)2 * EXPONENTS)); i > 0; i--)
        s *= 2;
    return s / (1 << EXPONENTS);
}

static int64_t small_integer(uint64_t bits, int64_t limit)
{
    return (int64_t)(bits % (uint64_t)(2 * limit + 1)) - limit;
}

static void draw(struct product *p, uint64_t seed)
{
    int64_t limit = kinds[p->kind].limit;
    for (uint64_t i = 0; i < N; i++) {
        p->f[i] = small_integer(pattern_word(seed, 4 * i), limit);
        p->g[i] = small_integer(pattern_word(seed, 4 * i + 1), limit);
        p->row_scale[i] = scale(pattern_word(seed, 4 * i + 2) >> 20);
        p->column_scale[i] = scale(pattern_word(seed, 4 * i + 3) >> 20);
    }
    for (unsigned d = 0; d < N; d++) {
        p->h[d] = 0;
        for (unsigned t = 0; t < N; t++)
            p->h[d] += p->f[t] * p->g[(t - d) % N];
    }
}

#define REAL    float
#define NAME(x) x##_float
#include "kernels/check/product_real.inc"
#undef REAL
#undef NAME
#define REAL    double
#define NAME(x) x##_double
#include "kernels/check/product_real.inc"

void product_fill(struct product *p, uint64_t seed)
{
    draw(p, seed);
    memset(p->c, 0xff, product_bytes(p->kind) / 3); // NaN: no element of the last round
    if (p->kind == PRODUCT_FP32)
        fill_float(p, p->a, p->b);
    else
        fill_double(p, p->a, p->b);
}

void product_compute(struct product *p)
{
    if (p->kind == PRODUCT_FP32)
        compute_float(p->c, p->a, p->b);
    else
        compute_double(p->c, p->a, p->b);
}

double product_expected(const struct product *p, unsigned row, unsigned column)
{
    return (double)p->h[(row + column) % N] * p->row_scale[row] *
           p->column_scale[column];
}

void product_verify(const struct product *p, struct product_wrong *wrong)
{
    double (*element)(const void *, size_t) =
        p->kind == PRODUCT_FP32 ? element_float : element_double;
    *wrong = (struct product_wrong){0};
    for (unsigned i = 0; i < N; i++) {
        for (unsigned j = 0; j < N; j++) {
            double got = element(p->c, (size_t)i * N + j),
                   expected = product_expected(p, i, j);
            if (got == expected)
                continue;
            if (wrong->count++ == 0)
                *wrong = (struct product_wrong){1, i, j, expected, got};
        }
    }
}
