// The CUDA back end, as C sees it: cuda.cu, which nvcc compiles.
#ifndef MUSTER_KERNELS_COMPUTE_CUDA_BACKEND_H
#define MUSTER_KERNELS_COMPUTE_CUDA_BACKEND_H

#include "kernels/compute/compute.h"

enum { CUDA_TEXT = 256 };

// Takes GPU `which` modulo their number for the calling thread. NULL: why says what hinders.
const struct compute *cuda_backend(unsigned which, char why[CUDA_TEXT]);

#endif
