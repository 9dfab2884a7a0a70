// What one GPU does: planted faults that have to be found, rates beside cudaMemcpy's and cuBLAS's in
// the same run, NCCL with one rank. A line each; kernels/gpu-session.sh runs it.
//
// Exit code: 0, 1 where something is wrong, 2 where it could not run. --ask: could it? --has LIBRARY: is
// it where the dynamic linker looks?
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

extern "C" {
#include "common/err.h"
#include "kernels/comm/gpu_way.h"
#include "kernels/comm/nccl.h"
#include "kernels/compute/compute.h"
}
#include "kernels/check/gpu_kernels.h"

enum { THREADS = 256, TRIES = 5, SIZE = 4096, SEED = 11, WRONG = 1, COULD_NOT_RUN = 2 };
static const size_t BYTES = (size_t)1 << 30;

static void must(cudaError_t rc, const char *what)
{
    if (rc == cudaSuccess)
        return;
    printf("%-28s fail: %s (%d)\n", what, cudaGetErrorString(rc), (int)rc);
    exit(WRONG);
}

static void *take(size_t bytes)
{
    void *p = NULL;
    must(cudaMalloc(&p, bytes), "memory");
    return p;
}

// ---- rates ------------------------------------------------------------------------

// The best of some tries, in ms; the first, which is not counted, warms up.
template <typename Work> static float best_ms(const char *what, Work work)
{
    cudaEvent_t begin, end;
    float best = INFINITY;
    must(cudaEventCreate(&begin), what);
    must(cudaEventCreate(&end), what);
    for (int i = 0; i <= TRIES; i++) {
        float ms = 0;
        must(cudaEventRecord(begin), what);
        work();
        must(cudaGetLastError(), what);
        must(cudaEventRecord(end), what);
        must(cudaEventSynchronize(end), what);
        must(cudaEventElapsedTime(&ms, begin, end), what);
        if (i > 0 && ms < best)
            best = ms;
    }
    return best;
}

static void tell_rate(const char *what, double rate, const char *unit, double beside,
                      const char *whose)
{
    printf("%-28s %10.1f %-8s %5.2f of %s's %.1f\n", what, rate, unit, rate / beside,
           whose, beside);
}

static void memory_rates(struct gpu_pair *a, struct gpu_pair *b, struct gpu_wrong *wrong,
                         unsigned blocks)
{
    size_t n = BYTES / sizeof *a;
    double moved = 2.0 * (double)BYTES / 1e6; // read and written
    double memcpy_rate =
        moved / best_ms("cudaMemcpy", [&] {
            must(cudaMemcpyAsync(b, a, BYTES, cudaMemcpyDeviceToDevice), "cudaMemcpy");
        });
    double copy =
        moved / best_ms("copy", [&] { gpu_copy<<<blocks, THREADS>>>(b, a, n); });
    uint64_t turned = ~UINT64_C(0); // each march leaves the inverse of what it found
    gpu_write<<<blocks, THREADS>>>(a, n, SEED, 0);
    must(cudaMemset(wrong, 0, sizeof *wrong), "march");
    double march = moved / best_ms("march", [&] {
                       turned = ~turned;
                       gpu_march<<<blocks, THREADS>>>(a, n, SEED, turned, true, false,
                                                      wrong);
                   });
    tell_rate("copy", copy, "GB/s", memcpy_rate, "cudaMemcpy");
    tell_rate("march (verifies, inverts)", march, "GB/s", memcpy_rate, "cudaMemcpy");
}

// cublasSgemm, where the library is.
typedef int (*sgemm_fn)(void *, int, int, int, int, int, const float *, const float *,
                        int, const float *, int, const float *, float *, int);

static void *library(const char *const *names)
{
    void *lib = NULL;
    for (; lib == NULL && *names != NULL; names++)
        lib = dlopen(*names, RTLD_NOW);
    return lib;
}

static sgemm_fn cublas_sgemm(void **handle)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so", NULL};
    void *lib = library(names);
    int (*create)(void **) = lib ? (int (*)(void **))dlsym(lib, "cublasCreate_v2") : NULL;
    sgemm_fn sgemm = lib ? (sgemm_fn)dlsym(lib, "cublasSgemm_v2") : NULL;
    return create != NULL && create(handle) == 0 ? sgemm : NULL;
}

// y = x w^T, each of SIZE^2 elements; cuBLAS has columns where we have rows.
static void product_rates(const struct compute *c, float *y, const float *x,
                          const float *w)
{
    double flop = 2.0 * (double)SIZE * (double)SIZE * (double)SIZE / 1e6; // a ms: GFLOP/s
    double ours =
        flop / best_ms("matmul", [&] { c->matmul(y, x, w, SIZE, SIZE, SIZE); });
    double dx =
        flop / best_ms("matmul_dx", [&] { c->matmul_dx(y, x, w, SIZE, SIZE, SIZE); });
    double dw =
        flop / best_ms("matmul_dw", [&] { c->matmul_dw(y, x, w, SIZE, SIZE, SIZE); });
    void *handle = NULL;
    sgemm_fn sgemm = cublas_sgemm(&handle);
    if (sgemm == NULL) {
        printf("%-28s %10.1f GFLOP/s  skipped: no cuBLAS to compare with\n", "matmul",
               ours);
        return;
    }
    const float one = 1, zero = 0;
    double theirs = flop / best_ms("cublasSgemm", [&] {
                        if (sgemm(handle, 1, 0, SIZE, SIZE, SIZE, &one, w, SIZE, x,
                                  SIZE, &zero, y, SIZE) != 0) {
                            printf("%-28s fail\n", "cublasSgemm");
                            exit(WRONG);
                        }
                    });
    tell_rate("matmul", ours, "GFLOP/s", theirs, "cublasSgemm");
    tell_rate("matmul_dx", dx, "GFLOP/s", theirs, "cublasSgemm");
    tell_rate("matmul_dw", dw, "GFLOP/s", theirs, "cublasSgemm");
}

// ---- planted faults ---------------------------------------------------------------

static bool told(const char *what, bool good)
{
    printf("%-28s %s\n", what, good ? "pass" : "FAIL");
    return good;
}

static void flip(void *there, uint64_t bit)
{
    uint64_t word;
    must(cudaMemcpy(&word, there, sizeof word, cudaMemcpyDeviceToHost), "a fault");
    word ^= bit;
    must(cudaMemcpy(there, &word, sizeof word, cudaMemcpyHostToDevice), "a fault");
}

static struct gpu_wrong marched(struct gpu_pair *at, size_t n, struct gpu_wrong *wrong,
                                unsigned blocks)
{
    struct gpu_wrong is;
    must(cudaMemset(wrong, 0, sizeof *wrong), "march");
    gpu_march<<<blocks, THREADS>>>(at, n, SEED, 0, false, false, wrong);
    must(cudaMemcpy(&is, wrong, sizeof is, cudaMemcpyDeviceToHost), "march");
    return is;
}

// In memory, and in a copy: found with place and bit.
static bool memory_faults(struct gpu_pair *a, struct gpu_pair *b,
                          struct gpu_wrong *wrong, unsigned blocks)
{
    size_t n = BYTES / sizeof *a, struck = n / 3;
    gpu_write<<<blocks, THREADS>>>(a, n, SEED, 0);
    bool clean = marched(a, n, wrong, blocks).count == 0;
    flip(&a[struck].b, 1u << 9);
    struct gpu_wrong w = marched(a, n, wrong, blocks);
    bool found = w.count == 1 && w.place == struck * 16 + 8 &&
                 (w.expected ^ w.got) == 1u << 9;
    flip(&a[struck].b, 1u << 9);
    gpu_copy<<<blocks, THREADS>>>(b, a, n);
    flip(&b[n - 1].a, 1);
    w = marched(b, n, wrong, blocks);
    bool copied = w.count == 1 && w.place == (n - 1) * 16;
    bool all = told("march of sound memory", clean);
    all &= told("a bit flipped in memory", found);
    return told("a bit flipped in a copy", copied) && all;
}

static bool product_fault(char *memory, struct gpu_wrong *wrong, unsigned blocks)
{
    struct gpu_tables t, *there = (struct gpu_tables *)take(sizeof t);
    float *a = (float *)memory, *b = a + GPU_N * GPU_N, *c = b + GPU_N * GPU_N;
    unsigned *sms = (unsigned *)(c + GPU_N * GPU_N);
    struct gpu_wrong before, after;
    const size_t struck = 50 * GPU_N + 40;
    gpu_draw(&t, GPU_FP32, SEED);
    must(cudaMemcpy(there, &t, sizeof t, cudaMemcpyHostToDevice), "product");
    must(cudaMemset(wrong, 0, sizeof *wrong), "product");
    gpu_fill<<<blocks, THREADS>>>(GPU_FP32, a, b, c, there);
    gpu_multiply<<<blocks, GPU_TILE * GPU_TILE>>>(GPU_FP32, a, b, c, sms);
    gpu_verify<<<blocks, THREADS>>>(c, there, sms, wrong);
    must(cudaMemcpy(&before, wrong, sizeof before, cudaMemcpyDeviceToHost), "product");
    flip(c + struck, 1);
    gpu_verify<<<blocks, THREADS>>>(c, there, sms, wrong);
    must(cudaMemcpy(&after, wrong, sizeof after, cudaMemcpyDeviceToHost), "product");
    bool good = told("a sound product", before.count == 0);
    return told("a bit flipped in a product", after.count == 1 && after.place == struck) &&
           good;
}

// ---- NCCL -------------------------------------------------------------------------

// What kernels/nccl says of NVIDIA's types, against its header where there is one.
#if __has_include(<nccl.h>)
static_assert((int)ncclSuccess == NCCL_SUCCESS && (int)ncclInProgress == NCCL_IN_PROGRESS);
static_assert((int)ncclInt8 == NCCL_INT8 && (int)ncclInt64 == NCCL_INT64);
static_assert((int)ncclSum == NCCL_SUM && sizeof(ncclUniqueId) == sizeof(struct nccl_id));
#endif

// One rank, by the reference ranks' back end: sums and parts are what it gives.
static bool nccl_alone(const struct compute *c)
{
    enum { N = 1000, MEET_MS = 60000 };
    ERR_AUTO err = {};
    char device[COMPUTE_DEVICE];
    struct gpu_way way;
    int64_t values[N], is[N] = {0};
    struct comm *self = comm_self();
    c->device(device);
    if (gpu_way_choose(self, GPU_WAY_AUTO, device, &way, &err) < 0 || !way.nccl) {
        printf("%-28s skipped: %s\n", "NCCL, 1 rank", way.why ? way.why : err_text(&err));
        return true;
    }
    struct comm *nccl = comm_nccl(self, &way.lib, MEET_MS);
    int64_t *from = (int64_t *)c->alloc(sizeof values);
    int64_t *to = (int64_t *)c->alloc(sizeof values);
    for (int64_t i = 0; i < N; i++)
        values[i] = i * i - 7 * i;
    c->put(from, values, sizeof values);
    comm_allreduce_i64(nccl, from, N);
    comm_reduce_scatter_i64(nccl, to, from, N);
    comm_broadcast(nccl, to, sizeof values, 0);
    comm_allgather(nccl, from, to, sizeof values);
    c->get(is, from, sizeof is);
    c->free(from);
    c->free(to);
    comm_destroy(nccl);
    comm_destroy(self);
    gpu_way_clear(&way);
    return told("NCCL, 1 rank", memcmp(is, values, sizeof is) == 0);
}

int main(int argc, char **argv)
{
    ERR_AUTO err = {};
    struct cudaDeviceProp about;
    if (argc > 2 && strcmp(argv[1], "--has") == 0)
        return dlopen(argv[2], RTLD_NOW) != NULL ? 0 : WRONG;
    const struct compute *c = compute_cuda(0, &err);
    if (c == NULL) {
        printf("could not run: %s\n", err_text(&err));
        return COULD_NOT_RUN;
    }
    if (argc > 1 && strcmp(argv[1], "--ask") == 0)
        return 0;
    must(cudaGetDeviceProperties(&about, 0), "cudaGetDeviceProperties");
    unsigned blocks = (unsigned)about.multiProcessorCount * 8;
    char *a = (char *)take(BYTES), *b = (char *)take(BYTES);
    struct gpu_wrong *wrong = (struct gpu_wrong *)take(sizeof *wrong);
    printf("%s, sm_%d%d\n", about.name, about.major, about.minor);
    bool good = memory_faults((struct gpu_pair *)a, (struct gpu_pair *)b, wrong, blocks);
    good &= product_fault(a, wrong, blocks);
    good &= nccl_alone(c);
    memory_rates((struct gpu_pair *)a, (struct gpu_pair *)b, wrong, blocks);
    must(cudaMemset(a, 0, BYTES), "products");
    size_t all = (size_t)SIZE * SIZE;
    product_rates(c, (float *)b, (float *)a, (float *)a + all);
    return good ? 0 : WRONG;
}
