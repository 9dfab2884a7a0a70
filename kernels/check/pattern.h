// The value that belongs at a place: a word's hash of its address or offset. Pure.
//
// Each word differs from its neighbours and from the words at every other address, so that
// a wrong address line shows as well as a wrong cell. The same source is compiled for CPUs
// and GPUs.
#ifndef MUSTER_KERNELS_CHECK_PATTERN_H
#define MUSTER_KERNELS_CHECK_PATTERN_H

#include <stdint.h>

#ifdef __CUDACC__
#define PATTERN_FN static __host__ __device__ inline
#else
#define PATTERN_FN static inline
#endif

// Two rounds of multiply and fold: each bit of the place reaches about half of the result's.
PATTERN_FN uint64_t pattern_word(uint64_t seed, uint64_t place)
{
    uint64_t x = (place + seed) * UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

#endif
