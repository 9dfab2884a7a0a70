// What one rank cannot do, none can: all go on, or all have the same error.
#ifndef MUSTER_KERNELS_COMM_AGREE_H
#define MUSTER_KERNELS_COMM_AGREE_H

#include "common/err.h"
#include "kernels/comm/comm.h"

// (all) rc is this rank's, with err where it is negative. Returns 0 if it is 0 on all ranks; else -1
// with the error of the lowest rank that has one, on all. Its kind is kept where it is `kind`
// (static; NULL: it is dropped).
int agree(struct comm *comm, int rc, const char *kind, struct err *err);

// (all) Are these bytes those of rank 0? -1, on all: the error says which ranks have another `what`.
int agree_same(struct comm *comm, const void *own, size_t bytes, const char *what,
               struct err *err);

#endif
