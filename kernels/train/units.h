// A model's parameters as units that are gathered, reduced and sharded as one. Pure.
//
// Unit 0 is what the model has once (embedding, classifier, last norm), unit 1 + l is layer l.
// A unit's floats lie side by side: matrices, then norms, which do not decay. It is cut into
// blocks of UNIT_BLOCK floats, and a rank's shard is a run of whole blocks: so what is summed
// block by block does not depend on the number of ranks.
#ifndef MUSTER_KERNELS_TRAIN_UNITS_H
#define MUSTER_KERNELS_TRAIN_UNITS_H

#include "kernels/model/config.h"

enum { UNIT_BLOCK = 1024 };

struct unit {
    size_t count;             // floats
    size_t decayed;           // the first ones, that are of matrices
    size_t at[MODEL_TENSORS]; // where each tensor begins; UNIT_NONE: not in this unit
};

#define UNIT_NONE SIZE_MAX

struct units {
    struct model_config config;
    struct unit outer, layer;
    size_t n; // 1 + layers
};

// Of a checked config.
struct units units_of(const struct model_config *config);
// Which kind unit u is.
const struct unit *units_get(const struct units *u, size_t i);
// All floats of the model.
size_t units_count(const struct units *u);

// Floats of one rank's shard, with padding: a multiple of UNIT_BLOCK.
size_t unit_shard(const struct unit *u, size_t ranks);
// What of rank's shard is in the unit at all.
struct unit_slice {
    size_t at, n;
};
struct unit_slice unit_slice_of(const struct unit *u, size_t rank, size_t ranks);

#endif
