// Collectives between ranks: one rank alone, MPI's world, or NCCL beside one of them (nccl.h).
//
// Every rank of a communicator makes the same calls in the same order. Sums are of int64 alone:
// they do not depend on the order, so neither on the number of ranks. Nothing here returns an
// error: a rank whose peer is gone can only be started again, and its launcher does that; the back
// end ends the process (MPI's default).
#ifndef MUSTER_KERNELS_COMM_COMM_H
#define MUSTER_KERNELS_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct comm;

// The world that a launcher has made for this process (comm_launched()), else this rank
// alone. Call once, before any other thread is there.
struct comm *comm_open(struct err *err);
struct comm *comm_self(void);
// NULL-safe. MPI's world is finalized: call it on all ranks, last.
void comm_destroy(struct comm *c);
// All ranks of the world end, with this exit code, without waiting for each other.
void comm_abort(struct comm *c, int code)
    __attribute__((noreturn)); // as C++ has it, too

int comm_rank(const struct comm *c);
int comm_size(const struct comm *c);
const char *comm_name(const struct comm *c); // "self", "mpi", "nccl"
// Whose memory collectives have their pointers to: a GPU's with nccl, in whose queue of kernels they
// are done in order; else the host's, and they are done when they return.
bool comm_on_gpu(const struct comm *c);

// In place: the sum over ranks.
void comm_allreduce_i64(struct comm *c, int64_t *sum, size_t n);
// all = the parts in the order of ranks; part may be where it goes in all.
void comm_allgather(struct comm *c, void *all, const void *part, size_t bytes);
// part = the n sums from rank * n on; all has size * n.
void comm_reduce_scatter_i64(struct comm *c, int64_t *part, const int64_t *all,
                             size_t n);
void comm_broadcast(struct comm *c, void *p, size_t bytes, int root);
// To and from another rank, in the host's memory, always; messages of a pair and a tag arrive in
// order.
void comm_send(struct comm *c, const void *p, size_t bytes, int to, int tag);
// The same, and never waits for the receiver: p is copied. It may go on its way only while this
// rank is in some call here, and has gone when comm_destroy() returns. Nothing but the caller
// bounds how many are on their way.
void comm_post(struct comm *c, const void *p, size_t bytes, int to, int tag);
void comm_recv(struct comm *c, void *p, size_t bytes, int from, int tag);
// Is such a message here? Never waits; comm_recv() spins while it does.
bool comm_ready(struct comm *c, int from, int tag);
// Ranks of one color are a communicator, in the order of key (then rank). Destroy it before c.
struct comm *comm_split(struct comm *c, int color, int key);

#endif
