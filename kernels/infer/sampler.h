// The next token from a row of logits. Pure: no state from one token to the next.
//
// What is drawn depends on the seed and the position alone, so that a text is the same in any
// batch, on any ranks, and when it is taken up again elsewhere.
#ifndef MUSTER_KERNELS_INFER_SAMPLER_H
#define MUSTER_KERNELS_INFER_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/compute/compute.h"

struct sampler_how {
    uint64_t seed;
    float temperature; // 0: the likeliest token, of equal ones the first
    float top_p; // draw from the likeliest tokens that together have this much; 1: all
};

struct sampler;

struct sampler *sampler_create(const struct compute *compute, size_t vocab);
void sampler_destroy(struct sampler *s); // NULL-safe
// The token at `pos`. The row is changed.
int32_t sampler_pick(struct sampler *s, float *logits, const struct sampler_how *how,
                     uint64_t pos);

#endif
