// Where a GPU was wrong: the first place, and how many there were.
#ifndef MUSTER_KERNELS_CHECK_GPU_WRONG_H
#define MUSTER_KERNELS_CHECK_GPU_WRONG_H

#include <stdint.h>

struct gpu_wrong {
    unsigned long long count;
    uint64_t place; // byte in the memory, or element of the product
    uint64_t expected, got;
    unsigned sm; // the multiprocessor
};

#endif
