// A socket between the agent and each rank, for PMI-1: made by the agent, handed to the
// keeper before its first SPAWN over a socket of their own (SCM_RIGHTS), given to the ranks.
#ifndef MUSTER_AGENT_RANK_FDS_H
#define MUSTER_AGENT_RANK_FDS_H

#include <stddef.h>

#include "common/err.h"

// Its number in a rank (PMI_FD): above what shell scripts use.
enum { RANK_FDS_PMI = 30 };

// Makes n socket pairs and writes their far ends into `sock`, whose other end nobody
// needs to read yet. mine[0 .. n-1] are the caller's on success, closed on failure.
int rank_fds_give(int sock, int *mine, size_t n, struct err *err);
// n fds that were given before; it does not wait for any.
int rank_fds_take(int sock, int *fds, size_t n, struct err *err);
void rank_fds_close(const int *fds, size_t n);

#endif
