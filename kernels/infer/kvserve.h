// A prefill rank lets others pull the keys and values that it holds (kvwire.h).
//
// Each connection is one pull and one answer, and has KVSERVE_LIFE_MS without progress.
//
//   READING --a pull of what is held--> SENDING --all layers, and the checksum--> ENDING --> closed
//      +--an answer that nobody holds it--> ENDING  +--let go meanwhile--> closed, and not whole
//
// A turn of the loop copies at most a layer, and makes the checksum of a slice and sends it: so a
// large answer comes out between the steps of prefill.
#ifndef MUSTER_KERNELS_INFER_KVSERVE_H
#define MUSTER_KERNELS_INFER_KVSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/infer/kvcache.h"
#include "kernels/infer/kvwire.h"
#include "kernels/infer/shard.h"

struct event_base;
struct kvserve;

enum { KVSERVE_LIFE_MS = 30000, KVSERVE_CONNECTIONS_MAX = 256 };
enum { KVSERVE_SLICE = 1 << 20 }; // bytes: some 2 ms of a core

// Listens at `address` on any port. `model` is copied, all else borrowed.
struct kvserve *kvserve_create(struct event_base *base, const char *address,
                               const struct shard *shard, struct kvcache *kv,
                               uint32_t slots, const char *model, struct err *err);
void kvserve_destroy(struct kvserve *k); // NULL-safe
uint32_t kvserve_port(const struct kvserve *k);
// The first n positions of a slot can be pulled under this number; n == 0: no more.
void kvserve_hold(struct kvserve *k, uint32_t slot, uint64_t hold, uint32_t n);

#endif
