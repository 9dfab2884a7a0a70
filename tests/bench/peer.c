// OpenBLAS is opened, not linked: it is fast, and not needed.
#include "tests/bench/peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/mem.h"

struct peer_blas peer_blas_load(void)
{
    struct peer_blas b = {0};
    void *lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        printf("OpenBLAS is not installed (libopenblas0-pthread): no ratio\n");
        return b;
    }
    void (*threads)(int) = NULL;
    *(void **)&b.gemm = dlsym(lib, "cblas_sgemm");
    *(void **)&b.gemv = dlsym(lib, "cblas_sgemv");
    *(void **)&threads = dlsym(lib, "openblas_set_num_threads");
    if (threads != NULL)
        threads(1);
    return b;
}

double peer_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double peer_median(double *times, size_t n)
{
    qsort(times, n, sizeof *times, by_size);
    return times[n / 2];
}

float *peer_filled(size_t n)
{
    float *x = xmalloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i * 2654435761U % 1000) / 1000 - 0.5F;
    return x;
}

size_t peer_number(int argc, char **argv, int i, size_t otherwise)
{
    return argc > i ? (size_t)strtoul(argv[i], NULL, 10) : otherwise;
}
