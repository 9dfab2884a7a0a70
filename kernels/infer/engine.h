// All ranks of a model as one thing that takes steps and gives tokens.
//
//   rank 0 (the leader)                 every other rank (engine_follow)
//   engine_launch()  -- order, step --> waits for an order without a core
//     its stage's layers                takes x from the stage before
//     x to the next stage  -----------> its stage's layers; x to the next one
//   engine_collect() <-- tokens ------- the last stage's first rank samples
//
// Steps go through the stages one behind the other; as many as there are stages can be under
// way. Orders and tokens are posted: the leader computes its part of the next step while others
// still do theirs of the one before. x alone waits for its receiver (a posted one would come
// to it only when its sender has computed the next step), and goes forwards only: so the stages
// never wait for each other in a circle.
#ifndef MUSTER_KERNELS_INFER_ENGINE_H
#define MUSTER_KERNELS_INFER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/comm/gpu_way.h"
#include "kernels/compute/compute.h"
#include "kernels/infer/kvcache.h"
#include "kernels/infer/kvpull.h"
#include "kernels/infer/kvserve.h"
#include "kernels/infer/sched.h"
#include "kernels/infer/shard.h"

struct engine;
struct event_base;

enum { ENGINE_SLOTS_MAX = 512, ENGINE_ROWS_MAX = 65536 };

// On all ranks of the world at once. Borrows all but `shard`, which is copied. Pulls live in `base`.
struct engine *engine_create(struct comm *world, const struct gpu_way *way,
                             struct event_base *base, const struct compute *compute,
                             const struct shard *shard, uint32_t slots, uint32_t rows);
void engine_destroy(struct engine *e); // NULL-safe; on all ranks

// ---- the leader
void engine_launch(struct engine *e, const struct sched_step *step);
// The tokens of the oldest step that was launched and not collected; room for `slots`.
void engine_collect(struct engine *e, int32_t *tokens);
void engine_end(struct engine *e); // the others return from engine_follow()
// (prefill) All ranks let the first n positions of a slot be pulled; n == 0: no more.
void engine_hold(struct engine *e, uint32_t slot, uint64_t hold, uint32_t n);
// (decode) All ranks begin to pull their parts, and do so beside the steps that follow. No step may
// have the slot before engine_fetched() names it: with an error, and nothing in it, or without.
void engine_fetch(struct engine *e, const struct kvpull_what *what);
// All ranks give up what they still pull for a slot: soon engine_fetched() names it.
void engine_fetch_drop(struct engine *e, uint32_t slot);
bool engine_fetched(struct engine *e, uint32_t *slot, struct err *err);

// ---- all others: until the leader says it is over. `look` (may be NULL) is called between
// orders, and while there is none: it gives `base` a turn.
void engine_follow(struct engine *e, void (*look)(void *arg), void *arg);

// ---- all ranks, for hand-over (kvwire.h)
struct kvcache *engine_kvcache(struct engine *e);
void engine_set_kvserve(struct engine *e, struct kvserve *k); // borrowed

#endif
