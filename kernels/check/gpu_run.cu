// gpucheck's launches: march, copies, products on tensor cores and beside them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdio.h>
#include <time.h>

#include "kernels/check/gpu_kernels.h"
extern "C" {
#include "kernels/check/gpu_run.h"
}

enum { THREADS = 256, BLOCKS_A_SM = 8, LEAST_BYTES = 64 << 20 };

// One warp a tile, sums in fp32. Before sm_80 the scalar kernel does it.
template <typename T>
__device__ void multiply_tile(const T *a, const T *b, float *c, unsigned tile)
{
#if __CUDA_ARCH__ >= 800
    using namespace nvcuda::wmma;
    fragment<matrix_a, GPU_TILE, GPU_TILE, GPU_TILE, T, row_major> x;
    fragment<matrix_b, GPU_TILE, GPU_TILE, GPU_TILE, T, row_major> y;
    fragment<accumulator, GPU_TILE, GPU_TILE, GPU_TILE, float> sum;
    unsigned row = tile / GPU_TILES * GPU_TILE, column = tile % GPU_TILES * GPU_TILE;
    fill_fragment(sum, 0.0f);
    for (unsigned k = 0; k < GPU_N; k += GPU_TILE) {
        load_matrix_sync(x, a + row * GPU_N + k, GPU_N);
        load_matrix_sync(y, b + k * GPU_N + column, GPU_N);
        mma_sync(sum, x, y, sum);
    }
    store_matrix_sync(c + row * GPU_N + column, sum, GPU_N, mem_row_major);
#endif
}

template <typename T>
__global__ void tensor_multiply(const T *a, const T *b, float *c, unsigned *sm_of_tile)
{
    unsigned warps = blockDim.x / 32, warp = threadIdx.x / 32;
    for (unsigned tile = blockIdx.x * warps + warp; tile < GPU_TILES * GPU_TILES;
         tile += gridDim.x * warps) {
        multiply_tile(a, b, c, tile);
        if (threadIdx.x % 32 == 0)
            sm_of_tile[tile] = gpu_sm();
    }
}

// One GPU, while it is at work.
struct run {
    struct gpu_work *w;
    struct cudaDeviceProp about;
    char *memory;
    struct gpu_wrong *wrong;   // on the GPU
    struct gpu_tables *tables; // on the GPU
    unsigned *sm_of_tile;      // on the GPU
    cudaEvent_t begin, end;
    unsigned blocks;
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

// What an error says of the GPU: not enough memory and being somebody else's say nothing.
static enum gpu_trouble trouble_of(cudaError_t rc)
{
    switch (rc) {
    case cudaSuccess: return GPU_FINE;
    case cudaErrorMemoryAllocation:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorNotPermitted: return GPU_COULD_NOT_RUN;
    default: return GPU_FAILS;
    }
}

// True where all is well; the first trouble is kept.
static bool ok(struct gpu_work *w, cudaError_t rc, const char *what)
{
    if (rc == cudaSuccess)
        return true;
    if (w->trouble == GPU_FINE) {
        w->trouble = trouble_of(rc);
        snprintf(w->why, sizeof w->why, "%s: %s (%d)", what, cudaGetErrorString(rc),
                 (int)rc);
    }
    return false;
}

static bool in_time(struct run *r, const char *what)
{
    struct gpu_work *w = r->w;
    w->stage(w->arg, w->device, what);
    if (now_ms() < w->until_ms)
        return true;
    if (w->trouble == GPU_FINE) {
        w->trouble = GPU_COULD_NOT_RUN;
        snprintf(w->why, sizeof w->why, "the time was over before %s", what);
    }
    return false;
}

extern "C" enum gpu_trouble gpu_count(int *count, char why[GPU_TEXT])
{
    cudaError_t rc = cudaGetDeviceCount(count);
    if (rc != cudaSuccess)
        snprintf(why, GPU_TEXT, "cudaGetDeviceCount: %s (%d)", cudaGetErrorString(rc),
                 (int)rc);
    return trouble_of(rc);
}

// As much as there is of what was asked for.
static bool take_memory(struct run *r)
{
    size_t free_bytes = 0, all = 0;
    struct gpu_work *w = r->w;
    if (!ok(w, cudaMemGetInfo(&free_bytes, &all), "cudaMemGetInfo"))
        return false;
    size_t want = (size_t)((double)free_bytes * w->percent / 100) / 65536 * 65536;
    cudaError_t rc = cudaErrorMemoryAllocation;
    while (rc == cudaErrorMemoryAllocation && want >= LEAST_BYTES) {
        rc = cudaMalloc((void **)&r->memory, want);
        w->bytes = want;
        want = want / 10 * 9 / 65536 * 65536;
    }
    if (rc == cudaErrorMemoryAllocation)
        cudaGetLastError(); // it is no trouble of the next call's
    return ok(w, rc, "cudaMalloc");
}

static bool begin(struct run *r)
{
    struct gpu_work *w = r->w;
    w->stage(w->arg, w->device, "its start");
    if (!ok(w, cudaSetDevice(w->device), "cudaSetDevice") ||
        !ok(w, cudaGetDeviceProperties(&r->about, w->device), "cudaGetDeviceProperties") ||
        !ok(w, cudaDeviceGetPCIBusId(w->bus_id, sizeof w->bus_id, w->device),
            "cudaDeviceGetPCIBusId"))
        return false;
    snprintf(w->name, sizeof w->name, "%s", r->about.name);
    r->blocks = (unsigned)r->about.multiProcessorCount * BLOCKS_A_SM;
    return ok(w, cudaEventCreate(&r->begin), "cudaEventCreate") &&
           ok(w, cudaEventCreate(&r->end), "cudaEventCreate") &&
           ok(w, cudaMalloc((void **)&r->wrong, sizeof *r->wrong), "cudaMalloc") &&
           ok(w, cudaMalloc((void **)&r->tables, sizeof *r->tables), "cudaMalloc") &&
           ok(w,
              cudaMalloc((void **)&r->sm_of_tile,
                         GPU_TILES * GPU_TILES * sizeof *r->sm_of_tile),
              "cudaMalloc") &&
           take_memory(r);
}

static bool clear_wrong(struct run *r)
{
    return ok(r->w, cudaMemset(r->wrong, 0, sizeof *r->wrong), "cudaMemset");
}

static bool fetch_wrong(struct run *r, struct gpu_wrong *to, const char *what)
{
    return ok(r->w, cudaMemcpy(to, r->wrong, sizeof *to, cudaMemcpyDeviceToHost), what);
}

static bool start_clock(struct run *r)
{
    return ok(r->w, cudaEventRecord(r->begin), "cudaEventRecord");
}

static bool stop_clock(struct run *r, const char *what, float *ms)
{
    return ok(r->w, cudaGetLastError(), what) &&
           ok(r->w, cudaEventRecord(r->end), what) &&
           ok(r->w, cudaEventSynchronize(r->end), what) &&
           ok(r->w, cudaEventElapsedTime(ms, r->begin, r->end), what);
}

// As march.h: w h; r h, w ~h; downwards r ~h, w h; r h.
static bool march(struct run *r)
{
    struct gpu_work *w = r->w;
    struct gpu_pair *at = (struct gpu_pair *)r->memory;
    size_t n = w->bytes / sizeof *at;
    double ms = 0;
    for (unsigned pass = 1; pass <= 4; pass++) {
        float took = 0;
        char what[32];
        snprintf(what, sizeof what, "memory march, pass %u", pass);
        if (!in_time(r, what) || !clear_wrong(r) || !start_clock(r))
            return false;
        if (pass == 1)
            gpu_write<<<r->blocks, THREADS>>>(at, n, w->seed, 0);
        else
            gpu_march<<<r->blocks, THREADS>>>(at, n, w->seed, pass == 3 ? ~0ull : 0,
                                              pass < 4, pass == 3, r->wrong);
        if (!stop_clock(r, what, &took) || !fetch_wrong(r, &w->march, what))
            return false;
        ms += took;
        w->march_pass = pass;
        if (w->march.count != 0)
            break;
    }
    w->march_gb_s = ms > 0 && w->march.count == 0 ? 6.0 * (double)w->bytes / ms / 1e6 : 0;
    return true;
}

// From the first half into the second, the best of three.
static bool copies(struct run *r)
{
    struct gpu_work *w = r->w;
    struct gpu_pair *from = (struct gpu_pair *)r->memory;
    size_t half = w->bytes / sizeof *from / 2;
    struct gpu_pair *to = from + half;
    for (unsigned i = 1; i <= GPU_COPIES && w->copy.count == 0; i++) {
        float ms = 0;
        if (!in_time(r, "copies") || !clear_wrong(r))
            return false;
        gpu_write<<<r->blocks, THREADS>>>(from, half, w->seed + i, 0);
        if (!start_clock(r))
            return false;
        gpu_copy<<<r->blocks, THREADS>>>(to, from, half);
        if (!stop_clock(r, "copy", &ms))
            return false;
        gpu_march<<<r->blocks, THREADS>>>(to, half, w->seed + i, 0, false, false,
                                          r->wrong);
        if (!ok(w, cudaGetLastError(), "copy") || !fetch_wrong(r, &w->copy, "copy"))
            return false;
        double rate = ms > 0 ? 2.0 * (double)half * sizeof *from / ms / 1e6 : 0;
        w->copy_gb_s = rate > w->copy_gb_s ? rate : w->copy_gb_s;
    }
    return true;
}

static void multiply(struct run *r, enum gpu_kind kind, const void *a, const void *b,
                     float *c)
{
    if (kind == GPU_FP32 || r->about.major < 8)
        gpu_multiply<<<r->blocks, GPU_TILE * GPU_TILE>>>(kind, a, b, c, r->sm_of_tile);
    else if (kind == GPU_BF16)
        tensor_multiply<<<r->blocks, THREADS>>>((const __nv_bfloat16 *)a,
                                                (const __nv_bfloat16 *)b, c,
                                                r->sm_of_tile);
    else
        tensor_multiply<<<r->blocks, THREADS>>>((const __half *)a, (const __half *)b, c,
                                                r->sm_of_tile);
}

static bool product(struct run *r, enum gpu_kind kind, uint64_t seed)
{
    static const char *const names[GPU_KINDS] = {"fp32 products", "bf16 products",
                                                 "fp16 products"};
    struct gpu_work *w = r->w;
    struct gpu_tables t;
    char *a = r->memory, *b = a + (size_t)GPU_N * GPU_N * 4;
    float *c = (float *)(b + (size_t)GPU_N * GPU_N * 4);
    float ms = 0;
    gpu_draw(&t, kind, seed);
    if (!in_time(r, names[kind]) || !clear_wrong(r) ||
        !ok(w, cudaMemcpy(r->tables, &t, sizeof t, cudaMemcpyHostToDevice), names[kind]))
        return false;
    gpu_fill<<<r->blocks, THREADS>>>(kind, a, b, c, r->tables);
    if (!start_clock(r))
        return false;
    multiply(r, kind, a, b, c);
    if (!stop_clock(r, names[kind], &ms))
        return false;
    gpu_verify<<<r->blocks, THREADS>>>(c, r->tables, r->sm_of_tile, r->wrong);
    if (!ok(w, cudaGetLastError(), names[kind]) ||
        !fetch_wrong(r, &w->product[kind], names[kind]))
        return false;
    double rate = ms > 0 ? 2.0 * (double)GPU_N * (double)GPU_N * (double)GPU_N / ms / 1e6 : 0;
    w->gflop_s[kind] = rate > w->gflop_s[kind] ? rate : w->gflop_s[kind];
    return true;
}

static bool products(struct run *r)
{
    for (unsigned i = 0; i < r->w->rounds; i++)
        for (int kind = 0; kind < GPU_KINDS; kind++)
            if (r->w->product[kind].count == 0 &&
                !product(r, (enum gpu_kind)kind, r->w->seed + i))
                return false;
    return true;
}

// No cudaFree: the process ends, and a sick GPU has no second chance to hang.
extern "C" void gpu_run(struct gpu_work *w)
{
    struct run r = {};
    r.w = w;
    if (begin(&r) && march(&r) && copies(&r))
        products(&r);
    if (w->trouble == GPU_FINE)
        w->stage(w->arg, w->device, "");
}
