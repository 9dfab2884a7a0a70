// One look at a source: its members, with addresses as far as they come in time.
#ifndef MUSTER_LAUNCHER_LOOK_H
#define MUSTER_LAUNCHER_LOOK_H

#include <stdbool.h>

#include "hostfile/source.h"

// Runs a loop of its own until there are `least` members and every one has an address,
// or for wait_ms (0: each is asked once). -1 with err when the source cannot be
// used.
int look_up(const struct source_spec *spec, size_t least, uint32_t wait_ms,
            struct members *out, struct err *err);
// True when there are members, `least` at least, and each has an address.
bool look_complete(const struct members *m, size_t least);

#endif
