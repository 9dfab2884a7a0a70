// Keys and values of the texts that are worked on: a slot each, for a whole sequence.
//
// A rank has those of its layers and heads: [slot][layer][position][head][head_dim], keys and
// values apart. Keys are as attention reads them, turned by RoPE.
#ifndef MUSTER_KERNELS_INFER_KVCACHE_H
#define MUSTER_KERNELS_INFER_KVCACHE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/compute/compute.h"
#include "kernels/infer/shard.h"

struct kvcache;

struct kvcache *kvcache_create(const struct compute *compute, const struct shard *shard,
                               uint32_t slots);
void kvcache_destroy(struct kvcache *k); // NULL-safe

// A slot's position 0 of a layer (counted from the stage's first); positions follow each other.
float *kvcache_keys(struct kvcache *k, uint32_t slot, size_t layer);
float *kvcache_values(struct kvcache *k, uint32_t slot, size_t layer);
size_t kvcache_row(const struct kvcache *k); // floats of a position

// A part of n positions of a slot, as it is sent (kvwire.h). The part is within the rank's own.
struct kvwire_part;
void kvcache_export(const struct kvcache *k, uint32_t slot,
                    const struct kvwire_part *part, uint32_t n, float *out);
void kvcache_import(struct kvcache *k, uint32_t slot, const struct kvwire_part *part,
                    uint32_t n, const float *in);

#endif
