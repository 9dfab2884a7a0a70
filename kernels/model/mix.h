// Random bits of a counter: the same on every rank, from any point on (splitmix64; Steele, Lea,
// Flood 2014).
#ifndef MUSTER_KERNELS_MODEL_MIX_H
#define MUSTER_KERNELS_MODEL_MIX_H

#include <stdint.h>

#define MIX_STEP                                                                       \
    UINT64_C(0x9e3779b97f4a7c15) // from one number of splitmix64 to the next

static inline uint64_t mix(uint64_t x)
{
    x += MIX_STEP;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

#endif
