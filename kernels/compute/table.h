// The two builds of the CPU's kernels, for compute/cpu.c.
#ifndef MUSTER_KERNELS_COMPUTE_TABLE_H
#define MUSTER_KERNELS_COMPUTE_TABLE_H

#include "kernels/compute/compute.h"

const struct compute *compute_table_fma(void);   // needs AVX2 and FMA
const struct compute *compute_table_plain(void); // any processor

#endif
