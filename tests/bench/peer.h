// What benchmarks of the kernels share: OpenBLAS as a peer, CPU time, medians.
#ifndef MUSTER_TESTS_BENCH_PEER_H
#define MUSTER_TESTS_BENCH_PEER_H

#include <stddef.h>

enum { PEER_ROW_MAJOR = 101, PEER_PLAIN = 111, PEER_TURNED = 112 }; // cblas.h's

typedef void peer_gemm_fn(int order, int turn_a, int turn_b, int m, int n, int k,
                          float alpha, const float *a, int lda, const float *b, int ldb,
                          float beta, float *c, int ldc);
typedef void peer_gemv_fn(int order, int turn_a, int m, int n, float alpha,
                          const float *a, int lda, const float *x, int step_x,
                          float beta, float *y, int step_y);

struct peer_blas {
    peer_gemm_fn *gemm; // both NULL: it is not installed
    peer_gemv_fn *gemv;
};

// libopenblas.so.0 with one thread; where it is not installed that is said on stdout.
struct peer_blas peer_blas_load(void);

double peer_cpu_seconds(void);               // of this thread
double peer_median(double *times, size_t n); // sorts them
float *peer_filled(size_t n);                // from -0.5 to 0.5; the caller frees
size_t peer_number(int argc, char **argv, int i, size_t otherwise); // an argument

#endif
