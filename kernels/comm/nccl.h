// NCCL as a back end: collectives on what lies in GPUs' memory.
//
// A communicator of it stands beside one of the host's with the same ranks, over which its unique id
// goes round, and which has the messages (send, recv, ready) and the abort. Pointers of its
// collectives are to the memory of the GPU that was the calling thread's when it was made. They are
// put into the queue of kernels (CUDA's stream 0) and are done in their order: whoever fetches the
// result, by a copy in that queue, waits for it. No error is returned (comm.h): this rank ends with
// a line that names rank, call and NCCL's text, and all are started again.
#ifndef MUSTER_KERNELS_COMM_NCCL_H
#define MUSTER_KERNELS_COMM_NCCL_H

#include <stdint.h>

#include "kernels/comm/comm.h"
#include "kernels/nccl/nccl.h"

enum { COMM_NCCL_INIT_MS = 300000 }; // until all ranks have met

// (all) base and lib are borrowed, and outlive it.
struct comm *comm_nccl(struct comm *base, const struct nccl *lib, uint32_t init_ms);

#endif
