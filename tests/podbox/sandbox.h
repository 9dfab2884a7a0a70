// What outlives a pod's containers: a process that holds its network, UTS, IPC and
// (for /dev/shm) mount namespaces, as the pause container does.
#ifndef MUSTER_PODBOX_SANDBOX_H
#define MUSTER_PODBOX_SANDBOX_H

#include "tests/podbox/bed.h"

// The helpers' own side; they return only on failure.
int sandbox_main(const struct bed *bed, const struct pod *pod, struct err *err);
int sandbox_fabric_main(struct err *err);

// Start the sandboxes of pods[first..first+n) side by side, with their cables, and note
// them in the bed (not yet saved). The helpers read the bed's saved state.
int sandbox_start(struct bed *bed, size_t first, size_t n, struct err *err);
int sandbox_fabric_start(struct bed *bed, struct err *err);

#endif
