// CUDA's words for a C compiler: kernels run one thread after the other, for their tests.
//
// Threads do not wait for each other. A kernel that needs barriers is written block by block
// (kernels/compute/cuda/words.h); all others thread by thread. State of the launch is static
// in the one source that includes this.
#ifndef MUSTER_COMMON_GPU_EMU_H
#define MUSTER_COMMON_GPU_EMU_H

struct gpu_emu_dim {
    unsigned x;
};

static struct gpu_emu_dim threadIdx, blockIdx, blockDim, gridDim;

#define __global__   static
#define __device__   static
#define __align__(n) __attribute__((aligned(n)))

static inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long n)
{
    unsigned long long before = *at;
    *at += n;
    return before;
}

// As many multiprocessors as a test can tell apart.
static inline unsigned gpu_sm(void)
{
    return blockIdx.x % 7;
}

// All threads of kernel(arguments...), in order.
#define GPU_EMU_LAUNCH(blocks, threads, call)                                          \
    do {                                                                               \
        gridDim.x = (blocks);                                                          \
        blockDim.x = (threads);                                                        \
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)                     \
            for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)             \
                call;                                                                  \
    } while (0)

// All blocks, each one call that runs the block's threads itself.
#define GPU_EMU_LAUNCH_BLOCKS(blocks, threads, call)                                   \
    do {                                                                               \
        gridDim.x = (blocks);                                                          \
        blockDim.x = (threads);                                                        \
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)                     \
            call;                                                                      \
    } while (0)

#endif
