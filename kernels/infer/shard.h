// A rank's part of a model: which weights it multiplies with. Pure, but for the mapping.
//
// A stage has layers in a row; the last one fewer, where it decodes with a large vocabulary: each
// token costs it the classifier, too. Within a stage each matrix is divided by its outputs, so that a
// rank's part is a run of rows in the file, and every output is computed whole, by one rank, as
// by one rank alone: nothing is summed across ranks, and the bits do not depend on how many there
// are. Heads are divided by those of keys and values, with the queries that use them.
#ifndef MUSTER_KERNELS_INFER_SHARD_H
#define MUSTER_KERNELS_INFER_SHARD_H

#include "kernels/infer/place.h"
#include "kernels/model/llama2c.h"

struct shard {
    const struct llama2c *file; // borrowed
    struct model_config config;
    struct place place;
    size_t head_dim;
    struct place_range layers;   // of this stage
    struct place_range kv_heads; // of this rank, as all below
    struct place_range q_heads;
    struct place_range dim, hidden, vocab;
};

// `decodes`: false: prompts alone are computed, of which one row each sees the classifier.
// Error: more ranks than can have something to do.
int shard_init(struct shard *s, const struct llama2c *file, const struct place *place,
               bool decodes, struct err *err);
bool shard_is_first(const struct shard *s); // stage
bool shard_is_last(const struct shard *s);
// This rank's rows of a matrix, and how long each is.
struct place_range shard_range(const struct shard *s, enum model_tensor t);
size_t shard_cols(const struct shard *s, enum model_tensor t);
// They, in the mapped file (of the whole model's layers).
const float *shard_rows(const struct shard *s, enum model_tensor t, size_t layer);

#endif
