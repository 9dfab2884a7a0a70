// All cores that this process may use, and memory for each of them.
#ifndef MUSTER_KERNELS_CHECK_CORES_H
#define MUSTER_KERNELS_CHECK_CORES_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/check/core.h"
#include "kernels/check/memroom.h"

struct cores {
    struct core *v; // owned
    size_t n;
    uint64_t slice; // bytes each
    size_t at_once; // cores that work at the same time
    void *memory;   // a slice for each of them; mapped until the process ends
};

// Those that the process may run on.
int cores_find(struct cores *cores, struct err *err);
// How the n cores share the room: slices of CORE_SLICE_MIN at least, for all cores, or for as many
// as there is memory for. share->value 0: the default, 64 MiB a core, but at most 5 % of the room,
// unless that is less than CORE_SLICE_MIN a core. Sets slice and at_once. Pure.
int cores_share(struct cores *cores, const struct memroom_share *share, uint64_t room,
                struct err *err);
// Equal slices of one mapping, between two guards that nobody may touch.
int cores_map(struct cores *cores, const struct memroom_share *share, struct err *err);
// core_run() on all of them, at_once at a time, as `like` says (seed, rounds, until_ms, stages).
int cores_run(struct cores *cores, const struct core *like, struct err *err);
void cores_free(struct cores *cores);

#endif
