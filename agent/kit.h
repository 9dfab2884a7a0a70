// A keeper process with its sockets, and perhaps a muster-pmixd below it: what an attempt
// runs with. Nothing of it depends on the attempt, so that it can be started ahead (warm.h).
#ifndef MUSTER_AGENT_KIT_H
#define MUSTER_AGENT_KIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"

struct kit {
    pid_t pid;  // of the keeper: the caller reaps it
    int keeper; // its fd 3
    int pmi;    // takes the ranks' PMI sockets (rank_fds.h)
    int pmixd;  // fd 3 of muster-pmixd; -1: none
};

// `pmixd` is the path of muster-pmixd, or NULL. On success the fds and the process are the
// caller's.
int kit_start(struct kit *k, const char *pmixd, char *const *env, struct err *err);
// Has one of its processes hung up? What was written before may still wait to be read.
bool kit_is_dead(const struct kit *k);
// The end of its sockets ends its processes.
void kit_close(struct kit *k);

#endif
