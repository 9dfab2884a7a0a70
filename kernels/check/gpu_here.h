// Are there NVIDIA devices on this machine, and how many should there be? A GPU check has nothing to
// check where there are none and nobody expects any.
#ifndef MUSTER_KERNELS_CHECK_GPU_HERE_H
#define MUSTER_KERNELS_CHECK_GPU_HERE_H

#include <stdbool.h>

#include "kernels/check/finding.h"

// A /dev/nvidia*, or a display or 3D controller of NVIDIA's on the PCI bus. root: "" but in tests.
bool gpu_here(const char *root);

// How many devices an environment promises; -1: it says nothing. gpus: MUSTER_CHECK_GPUS, a number.
// visible: NVIDIA_VISIBLE_DEVICES, which device plugins set: a list counts as it is; parts of devices
// (MIG, time slices) promise one; "all", which images set by themselves, and "none", "void" say
// nothing. NULL: not set.
long gpu_here_promised(const char *gpus, const char *visible);
// The option's value where it is not negative, else what this process's environment promises.
long gpu_here_expected(long option);

// The last word of a check that could not run: where no device is here it fails if some are
// expected, else it has nothing to check.
void gpu_here_settle(struct finding *f, long expected);

#endif
