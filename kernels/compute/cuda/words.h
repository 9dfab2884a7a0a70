// How the back end's kernels are written, so that nvcc compiles them for GPUs and a C compiler
// for their tests: block by block.
//
// A kernel's body is code that every thread of the block does alike, and regions
//
//     GPU_EACH_THREAD { ... threadIdx.x ... }
//
// that end with a barrier. On a GPU each thread goes once through a region; in a test a loop
// goes through it for each thread of the block. Therefore
//   - outside of regions nothing but parameters, blockIdx, locals and shared memory is read, and
//     no memory is written; what is read there is not written by the next region;
//   - what a thread keeps from one region to another is declared
//     GPU_OWN(float, s) and used as s[GPU_ME];
//   - no region is left by return or break, and all threads of a block reach it.
#ifndef MUSTER_KERNELS_COMPUTE_CUDA_WORDS_H
#define MUSTER_KERNELS_COMPUTE_CUDA_WORDS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { GPU_THREADS = 256 }; // of a block, for all kernels

#ifdef __CUDACC__
#define GPU_EACH_THREAD                                                                \
    for (bool gpu_once = true; gpu_once; gpu_once = false, __syncthreads())
#define GPU_SHARED          __shared__
#define GPU_OWN(type, name) type name[1]
#define GPU_ME              0
#define GPU_UNROLL          _Pragma("unroll")
#define GPU_START(blocks, kernel, ...)                                                 \
    kernel<<<(unsigned)(blocks), GPU_THREADS>>>(__VA_ARGS__)
#else
#include "common/gpu_emu.h"
#define GPU_EACH_THREAD for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
#define GPU_SHARED
#define GPU_OWN(type, name) type name[GPU_THREADS]
#define GPU_ME              threadIdx.x
#define GPU_UNROLL          _Pragma("GCC unroll 16")
#define GPU_START(blocks, kernel, ...)                                                 \
    GPU_EMU_LAUNCH_BLOCKS((unsigned)(blocks), GPU_THREADS, kernel(__VA_ARGS__))
#endif

// Elements that threads share out among themselves: in a region of a grid, of one block.
#define GPU_EACH_OF_GRID(i, n)                                                         \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);            \
         i += (size_t)gridDim.x * blockDim.x)
#define GPU_EACH_OF_BLOCK(i, n) for (size_t i = threadIdx.x; i < (n); i += blockDim.x)

#endif
