// The GPUs of one end of a pair, each a rank of NCCL with a buffer of 64-bit words.
//
// Errors: err->code says whose word it is, as in net_io.h: 2 (could not run) for what is not there, 1
// where GPU or network did not do what it should.
#ifndef MUSTER_KERNELS_CHECK_NET_GPUS_H
#define MUSTER_KERNELS_CHECK_NET_GPUS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/nccl/nccl.h"

enum { NET_GPUS_MAX = 64 };

struct net_gpus;

// All that this process may use, with the driver's and NCCL's libraries.
struct net_gpus *net_gpus_open(const char *driver, const char *nccl, struct err *err);
void net_gpus_close(
    struct net_gpus *g); // NULL-safe; leaves the driver's things to the process's end
unsigned net_gpus_count(const struct net_gpus *g);
const char *net_gpus_bus_id(const struct net_gpus *g, unsigned i);

int net_gpus_make_id(struct net_gpus *g, struct nccl_id *id, struct err *err);
// (all ends) Ranks first, first + 1, ... of `ranks`.
int net_gpus_join(struct net_gpus *g, const struct nccl_id *id, unsigned ranks,
                  unsigned first, struct err *err);

// Buffers of n words; what was in them is gone.
int net_gpus_room(struct net_gpus *g, size_t words, struct err *err);
int net_gpus_put(struct net_gpus *g, unsigned i, const uint64_t *words, size_t n,
                 struct err *err);
int net_gpus_get(struct net_gpus *g, unsigned i, uint64_t *words, size_t n,
                 struct err *err);
// (all ends) Both begin and wait for the end: each buffer's first n words become the sum over ranks,
// and those of rank `root`.
int net_gpus_sum(struct net_gpus *g, size_t n, struct err *err);
int net_gpus_broadcast(struct net_gpus *g, size_t n, unsigned root, struct err *err);

#endif
