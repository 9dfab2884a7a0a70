// A container and its shim: the shim starts pid 1 in the pod's namespaces, waits for
// its end and writes it down. It dies with its shim.
#ifndef MUSTER_PODBOX_SHIM_H
#define MUSTER_PODBOX_SHIM_H

#include "tests/podbox/bed.h"

// The helper's own side: returns when the container has ended.
int shim_main(const struct bed *bed, const struct pod *pod, struct err *err);

// Start the containers of pods[first..first+n) side by side; each runs (its command has
// been executed) when this returns.
int shim_start(const struct bed *bed, size_t first, size_t n, struct err *err);

#endif
