// The matrix products of one training step, and the same ones by OpenBLAS, on one thread.
//
//   gemm [DIM HIDDEN TOKENS ROUNDS]     a line a product: GFLOP/s of both (CPU time, medians), ratio
//
// Rounds are interleaved. Where libopenblas.so.0 is not installed its column is left out, and said
// so. Exit code 1: a product of both is not the same within float's rounding.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/compute/compute.h"
#include "tests/bench/peer.h"

struct bench {
    const struct compute *c;
    struct peer_blas blas;
    size_t rounds;
};

// x[n][in], w[out][in], y[n][out]
struct product {
    const char *name;
    size_t n, in, out;
};

struct matrices {
    float *x, *w, *y, *other;
};

// kind 0: y = x w^T; 1: dx += dy w; 2: dw += dy^T x. Into y, x, w in turn.
static void ours(const struct bench *b, const struct product *p, int kind,
                 const struct matrices *m)
{
    switch (kind) {
    case 0: b->c->matmul(m->other, m->x, m->w, p->n, p->in, p->out); break;
    case 1: b->c->matmul_dx(m->other, m->y, m->w, p->n, p->in, p->out); break;
    default: b->c->matmul_dw(m->other, m->y, m->x, p->n, p->in, p->out); break;
    }
}

static void theirs(const struct bench *b, const struct product *p, int kind,
                   const struct matrices *m)
{
    int n = (int)p->n, in = (int)p->in, out = (int)p->out;
    switch (kind) {
    case 0:
        b->blas.gemm(PEER_ROW_MAJOR, PEER_PLAIN, PEER_TURNED, n, out, in, 1, m->x, in,
                     m->w, in, 0, m->other, out);
        break;
    case 1:
        b->blas.gemm(PEER_ROW_MAJOR, PEER_PLAIN, PEER_PLAIN, n, in, out, 1, m->y, out,
                     m->w, in, 1, m->other, in);
        break;
    default:
        b->blas.gemm(PEER_ROW_MAJOR, PEER_TURNED, PEER_PLAIN, out, in, n, 1, m->y, out,
                     m->x, in, 1, m->other, in);
        break;
    }
}

static size_t result_size(const struct product *p, int kind)
{
    return kind == 0 ? p->n * p->out : kind == 1 ? p->n * p->in : p->out * p->in;
}

// Times one run from a zeroed result; its sum of magnitudes through *sum.
static double timed(const struct bench *b, const struct product *p, int kind,
                    const struct matrices *m, bool blas, double *sum)
{
    size_t n = result_size(p, kind);
    memset(m->other, 0, n * sizeof *m->other);
    double begin = peer_cpu_seconds();
    if (blas)
        theirs(b, p, kind, m);
    else
        ours(b, p, kind, m);
    double took = peer_cpu_seconds() - begin;
    *sum = 0;
    for (size_t i = 0; i < n; i++)
        *sum += fabs((double)m->other[i]);
    return took;
}

static bool one(const struct bench *b, const struct product *p, int kind,
                const struct matrices *m)
{
    static const char *const kinds[] = {"y", "dx", "dw"};
    CLEANUP_FREE double *own = xcalloc(b->rounds, sizeof *own);
    CLEANUP_FREE double *other = xcalloc(b->rounds, sizeof *other);
    double flop = 2e-9 * (double)p->n * (double)p->in * (double)p->out, sum = 0,
           same = 0;
    for (size_t i = 0; i < b->rounds; i++) {
        own[i] = timed(b, p, kind, m, false, &sum);
        same = sum; // where there is nothing to compare with
        if (b->blas.gemm != NULL)
            other[i] = timed(b, p, kind, m, true, &same);
    }
    double t = peer_median(own, b->rounds);
    printf("%-10s %-3s %5zu x %5zu x %5zu  %6.1f GFLOP/s", p->name, kinds[kind], p->n,
           p->in, p->out, flop / t);
    if (b->blas.gemm != NULL) {
        double u = peer_median(other, b->rounds);
        printf("  OpenBLAS %6.1f  our time / theirs %.2f", flop / u, t / u);
    }
    printf("\n");
    return fabs(sum - same) <= 1e-4 * fabs(same);
}

// OpenBLAS is three times slower until it has done a large product, and stays fast then.
static void warm_up(const struct bench *b, const struct product *p, size_t n,
                    const struct matrices *m)
{
    double sum;
    for (size_t i = 0; b->blas.gemm != NULL && i < n; i++)
        timed(b, &p[i], 0, m, true, &sum);
}

int main(int argc, char **argv)
{
    struct bench b = {.c = compute_cpu(),
                      .blas = peer_blas_load(),
                      .rounds = peer_number(argc, argv, 4, 15)};
    size_t dim = peer_number(argc, argv, 1, 256),
           hidden = peer_number(argc, argv, 2, 704),
           tokens = peer_number(argc, argv, 3, 256), most = dim > hidden ? dim : hidden;
    if (dim == 0 || hidden == 0 || tokens == 0 || b.rounds == 0)
        return 2;
    const struct product products[] = {{"wq, wo", tokens, dim, dim},
                                       {"w1, w3", tokens, dim, hidden},
                                       {"w2", tokens, hidden, dim},
                                       {"classifier", tokens, dim, 256}};
    size_t largest = (most > tokens ? most : tokens) * (most > 256 ? most : 256);
    struct matrices m = {peer_filled(largest), peer_filled(largest),
                         peer_filled(largest), peer_filled(largest)};
    bool right = true;
    warm_up(&b, products, sizeof products / sizeof *products, &m);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        for (int kind = 0; kind < 3; kind++)
            right &= one(&b, &products[i], kind, &m);
    }
    free(m.x);
    free(m.w);
    free(m.y);
    free(m.other);
    return right ? 0 : 1;
}
