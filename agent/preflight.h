// What may go wrong on this pod, told before the ranks run. Pure but for preflight_look().
#ifndef MUSTER_AGENT_PREFLIGHT_H
#define MUSTER_AGENT_PREFLIGHT_H

#include <stddef.h>
#include <stdint.h>

#include "common/strv.h"

struct preflight {
    uint64_t shm_bytes; // size of /dev/shm; 0: not known
    uint32_t ranks;     // that will run here
    const char *tmpdir; // of the ranks
};

// Reads the sizes of this pod.
void preflight_look(struct preflight *p);
// Adds a line for each finding: what, why it hurts, what to do.
void preflight_warn(const struct preflight *p, struct strv *warnings);

#endif
