// What each rank of the prefill role has: a server of what it holds, known to the leader.
#ifndef MUSTER_KERNELS_INFER_PREFILL_RANKS_H
#define MUSTER_KERNELS_INFER_PREFILL_RANKS_H

#include "kernels/comm/comm.h"
#include "kernels/infer/engine.h"
#include "kernels/infer/kvwire.h"
#include "kernels/infer/shard.h"

struct event_base;
struct prefill_ranks;

// `listen`: where the leader is asked; NULL: at $MASTER_PORT, on all addresses unless $MASTER_ADDR
// is loopback. The ranks' own servers are on loopback where that is, else on all addresses,
// known by the one towards $MASTER_ADDR. Borrows all.
struct prefill_ranks *prefill_ranks_create(struct event_base *base,
                                           struct engine *engine,
                                           const struct shard *shard, uint32_t slots,
                                           const char *model, const char *listen,
                                           struct err *err);
void prefill_ranks_destroy(struct prefill_ranks *p); // NULL-safe
// On all ranks at once: all of them, in the order of ranks.
const struct kvwire_source *prefill_ranks_gather(struct prefill_ranks *p,
                                                 struct comm *world);
const char *prefill_ranks_listen(const struct prefill_ranks *p);

#endif
