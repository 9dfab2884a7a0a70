// The CUDA back end: memory of the runtime's, and the table of launches.h.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define GPU_NAME "cuda"
extern "C" {
#include "common/mem.h"
#include "kernels/compute/cuda/backend.h"
}
#include "kernels/compute/cuda/launches.h"

// The table's functions return no errors: a rank whose GPU fails cannot go on, and its launcher
// restarts it.
static void must(cudaError_t rc, const char *what, const char *detail)
{
    if (rc == cudaSuccess)
        return;
    fprintf(stderr,
            "cuda: %s%s failed: %s (%d); run gpucheck on this node to see whether its "
            "GPU is faulty\n",
            what, detail, cudaGetErrorString(rc), (int)rc);
    abort();
}

static void *device_alloc(size_t bytes)
{
    void *p = NULL;
    bytes = bytes > 0 ? bytes : 1;
    cudaError_t rc = cudaMalloc(&p, bytes);
    if (rc == cudaErrorMemoryAllocation) {
        size_t left = 0, all = 0;
        cudaMemGetInfo(&left, &all);
        fprintf(stderr,
                "cuda: no memory for %zu bytes: %zu of the GPU's %zu are free; use "
                "more GPUs, a smaller model, or, in training, a higher --zero or "
                "--comm mpi\n",
                bytes, left, all);
        abort();
    }
    must(rc, "cudaMalloc", "");
    must(cudaMemset(p, 0, bytes), "cudaMemset", "");
    return p;
}

static void device_free(void *p)
{
    must(cudaFree(p), "cudaFree", "");
}

// From the driver's pool, in the order of the queue: no call waits.
static void *device_borrow(size_t bytes)
{
    void *p = NULL;
    must(cudaMallocAsync(&p, bytes > 0 ? bytes : 1, 0), "cudaMallocAsync", "");
    return p;
}

static void device_return(void *p)
{
    must(cudaFreeAsync(p, 0), "cudaFreeAsync", "");
}

static void device_zero(void *p, size_t bytes)
{
    must(cudaMemsetAsync(p, 0, bytes, 0), "cudaMemset", "");
}

static void device_put(void *to, const void *from_host, size_t bytes)
{
    must(cudaMemcpy(to, from_host, bytes, cudaMemcpyHostToDevice),
         "a copy to the GPU, or a kernel before it,", "");
}

static void device_get(void *to_host, const void *from, size_t bytes)
{
    must(cudaMemcpy(to_host, from, bytes, cudaMemcpyDeviceToHost),
         "a copy from the GPU, or a kernel before it,", "");
}

static void device_copy(void *to, const void *from, size_t bytes)
{
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, 0), "cudaMemcpy", "");
}

static void device_copy_rows(void *to, size_t to_stride, const void *from,
                             size_t from_stride, size_t rows, size_t bytes)
{
    if (rows > 0 && bytes > 0)
        must(cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, rows,
                               cudaMemcpyDeviceToDevice, 0),
             "cudaMemcpy2D", "");
}

// Its UUID: that of the part where it is a part of a GPU (MIG).
static void device_name(char text[COMPUTE_DEVICE])
{
    int device = 0;
    struct cudaDeviceProp about;
    must(cudaGetDevice(&device), "cudaGetDevice", "");
    must(cudaGetDeviceProperties(&about, device), "cudaGetDeviceProperties", "");
    int n = snprintf(text, COMPUTE_DEVICE, "GPU-");
    for (size_t i = 0; i < sizeof about.uuid.bytes; i++)
        n += snprintf(text + n, (size_t)(COMPUTE_DEVICE - n), "%s%02x",
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                      (unsigned)(unsigned char)about.uuid.bytes[i]);
}

static void device_starting(void)
{
}

static void device_started(const char *kernel)
{
    must(cudaGetLastError(), "the start of kernel ", kernel);
}

extern "C" const struct compute *cuda_backend(unsigned which, char why[CUDA_TEXT])
{
    int count = 0, pools = 0;
    cudaError_t rc = cudaGetDeviceCount(&count);
    const char *what = "cudaGetDeviceCount";
    if (rc == cudaSuccess && count == 0)
        rc = cudaErrorNoDevice;
    int device = rc == cudaSuccess ? (int)(which % (unsigned)count) : 0;
    if (rc == cudaSuccess) {
        rc = cudaSetDevice(device);
        what = "cudaSetDevice";
    }
    if (rc == cudaSuccess) {
        rc = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device);
        what = "cudaDeviceGetAttribute";
    }
    if (rc == cudaSuccess && !pools) {
        snprintf(why, CUDA_TEXT, "GPU %d has no memory pools (too old a driver)", device);
        return NULL;
    }
    if (rc != cudaSuccess) {
        snprintf(why, CUDA_TEXT, "%s: %s (%d)", what, cudaGetErrorString(rc), (int)rc);
        return NULL;
    }
    return &launch_table;
}
