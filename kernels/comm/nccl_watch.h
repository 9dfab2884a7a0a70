// A thread that notices what no call returns: ranks that do not meet, and a collective that fails
// after it was started, while this rank waits for the GPU.
//
//   MEETING --nccl_watch_begin()--> WATCHING --nccl_watch_destroy()--> over
//      +---- init_ms are over ------+-- ncclCommGetAsyncError is one --> the process ends
//
// That a rank is dead is no error of NCCL's alone: its launcher sees it first, and ends the others.
#ifndef MUSTER_KERNELS_COMM_NCCL_WATCH_H
#define MUSTER_KERNELS_COMM_NCCL_WATCH_H

#include <stdint.h>

#include "kernels/nccl/nccl.h"

struct nccl_watch;

// Before ncclCommInitRank, which has init_ms.
struct nccl_watch *nccl_watch_create(const struct nccl *lib, int rank,
                                     uint32_t init_ms);
void nccl_watch_begin(struct nccl_watch *w, struct nccl_comm *comm);
// The collective that is started next, for its error's text (static).
void nccl_watch_call(struct nccl_watch *w, const char *name);
// Before the communicator goes.
void nccl_watch_destroy(struct nccl_watch *w);

#endif
