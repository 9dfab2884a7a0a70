// The pulls of all ranks for the same prompts, beside their steps (kvpull.h).
//
// All ranks begin a pull by the same order, each on its own; each tells rank 0 once how its own part
// ended, by a message, and rank 0 looks for those between its steps. A slot has one pull at most.
#ifndef MUSTER_KERNELS_INFER_PULLS_H
#define MUSTER_KERNELS_INFER_PULLS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/comm/comm.h"
#include "kernels/infer/kvcache.h"
#include "kernels/infer/kvpull.h"
#include "kernels/infer/shard.h"

struct event_base;
struct pulls;

// Borrows all.
struct pulls *pulls_create(struct comm *world, struct event_base *base,
                           const struct shard *shard, struct kvcache *kv,
                           uint32_t slots);
void pulls_destroy(struct pulls *p); // NULL-safe

void pulls_begin(struct pulls *p, const struct kvpull_what *what); // all ranks
// (rank 0) A slot whose pull is over on all ranks, with the error of a rank that has one; without,
// all of it is there. False: none is.
bool pulls_next(struct pulls *p, uint32_t *slot, struct err *err);
// (all ranks) A slot's pull is given up, and over with an error, where it is not over yet.
void pulls_drop(struct pulls *p, uint32_t slot);
// (all ranks) Those under way are given up. No message of theirs is on its way afterwards.
void pulls_end(struct pulls *p);

#endif
