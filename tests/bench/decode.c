// The matrix products of a step of muster-infer, and the same ones by OpenBLAS, on one thread.
//
//   decode [DIM HIDDEN LAYERS VOCAB ROUNDS]
//
// A step goes through the weights of all layers, so that they come from where a step has them from. A
// line for each number of rows: milliseconds a step of both (CPU time, medians), their ratio. With
// one row OpenBLAS has its matrix-vector product. Rounds are interleaved. Exit code 1: results of both
// are not the same within float's rounding.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"
#include "kernels/compute/compute.h"
#include "tests/bench/peer.h"

enum { MATRICES = 7, ROWS_MOST = 64 };

struct shape {
    size_t in, out;
};

struct bench {
    const struct compute *c;
    struct peer_blas blas;
    struct shape
        layer[MATRICES]; // wq, wk, wv, wo, w1, w3, w2: half as many heads of keys
    struct shape classifier;
    size_t layers, rounds;
    float *x, *y, *weights; // weights: of all matrices, one after the other
};

static void product(const struct bench *b, const struct shape *s, const float *w,
                    size_t rows, bool blas)
{
    int n = (int)rows, in = (int)s->in, out = (int)s->out;
    if (!blas)
        b->c->matmul(b->y, b->x, w, rows, s->in, s->out);
    else if (rows == 1)
        b->blas.gemv(PEER_ROW_MAJOR, PEER_PLAIN, out, in, 1, w, in, b->x, 1, 0, b->y,
                     1);
    else
        b->blas.gemm(PEER_ROW_MAJOR, PEER_PLAIN, PEER_TURNED, n, out, in, 1, b->x, in,
                     w, in, 0, b->y, out);
}

// A step's seconds; the magnitudes of all results are added to *sum.
static double step(const struct bench *b, size_t rows, bool blas, double *sum)
{
    const float *w = b->weights;
    double took = 0;
    for (size_t i = 0; i <= b->layers * MATRICES; i++) {
        bool last = i == b->layers * MATRICES;
        const struct shape *s = last ? &b->classifier : &b->layer[i % MATRICES];
        double begin = peer_cpu_seconds();
        product(b, s, w, rows, blas);
        took += peer_cpu_seconds() - begin;
        for (size_t k = 0; k < rows * s->out; k++)
            *sum += fabs((double)b->y[k]);
        w += s->in * s->out;
    }
    return took;
}

static bool measure(const struct bench *b, size_t rows)
{
    CLEANUP_FREE double *own = xcalloc(b->rounds, sizeof *own);
    CLEANUP_FREE double *other = xcalloc(b->rounds, sizeof *other);
    double sum = 0, same = 0;
    for (size_t i = 0; i < b->rounds; i++) {
        own[i] = step(b, rows, false, &sum);
        if (b->blas.gemm != NULL)
            other[i] = step(b, rows, true, &same);
    }
    double t = peer_median(own, b->rounds), u = peer_median(other, b->rounds);
    printf("%2zu rows: %8.3f ms a step", rows, t * 1e3);
    if (b->blas.gemm != NULL)
        printf(", OpenBLAS %8.3f, our time / theirs %.2f", u * 1e3, t / u);
    printf("\n");
    return b->blas.gemm == NULL || fabs(sum - same) <= 1e-4 * fabs(same);
}

static size_t weights(const struct bench *b)
{
    size_t n = b->classifier.in * b->classifier.out;
    for (size_t i = 0; i < MATRICES; i++)
        n += b->layers * b->layer[i].in * b->layer[i].out;
    return n;
}

int main(int argc, char **argv)
{
    size_t dim = peer_number(argc, argv, 1, 256),
           hidden = peer_number(argc, argv, 2, 704),
           vocab = peer_number(argc, argv, 4, 256), kv = dim / 2;
    struct bench b = {.c = compute_cpu(),
                      .layer = {{dim, dim},
                                {dim, kv},
                                {dim, kv},
                                {dim, dim},
                                {dim, hidden},
                                {dim, hidden},
                                {hidden, dim}},
                      .classifier = {dim, vocab},
                      .layers = peer_number(argc, argv, 3, 4),
                      .rounds = peer_number(argc, argv, 5, 31)};
    static const size_t rows[] = {1, 4, 16, ROWS_MOST};
    size_t most = dim + hidden + vocab;
    double unused = 0;
    bool right = true;
    if (kv == 0 || hidden == 0 || vocab == 0 || b.layers == 0 || b.rounds == 0)
        return 2;
    b.blas = peer_blas_load();
    b.x = peer_filled(ROWS_MOST * most);
    b.y = peer_filled(ROWS_MOST * most);
    b.weights = peer_filled(weights(&b));
    printf("dim %zu, hidden %zu, %zu layers, vocabulary %zu: %.1f MB of weights\n", dim,
           hidden, b.layers, vocab, (double)weights(&b) * sizeof(float) / 1e6);
    if (b.blas.gemm != NULL) // it is slow until it has done a large product
        step(&b, ROWS_MOST, true, &unused);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        right &= measure(&b, rows[i]);
    free(b.x);
    free(b.y);
    free(b.weights);
    return right ? 0 : 1;
}
