// The CUDA back end's kernels on the CPU, block by block.
#ifndef MUSTER_TESTS_UNIT_EMULATED_H
#define MUSTER_TESTS_UNIT_EMULATED_H

#include "kernels/compute/compute.h"

// Its memory is out of reach but for kernels, put and get, as a GPU's is: who else touches it
// gets SIGSEGV.
const struct compute *compute_emulated(void);

#endif
