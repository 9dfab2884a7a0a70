// A stage's layers over the rows of a step.
//
// x[rows][dim] comes in and goes out; in between each rank of the stage computes its outputs of
// each matrix for all rows, and all gather them (shard.h says why nothing is summed).
#ifndef MUSTER_KERNELS_INFER_FORWARD_H
#define MUSTER_KERNELS_INFER_FORWARD_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/comm/comm.h"
#include "kernels/compute/compute.h"
#include "kernels/infer/kvcache.h"
#include "kernels/infer/sched.h"
#include "kernels/infer/shard.h"

struct forward;

// `stage`: the tensor-parallel ranks, in their order: the GPU's, where the compute back end is that
// GPU, or the host's. All borrowed.
struct forward *forward_create(const struct compute *compute, const struct shard *shard,
                               struct comm *stage, struct kvcache *kv, uint32_t rows);
void forward_destroy(struct forward *f); // NULL-safe

// x[rows][dim] in the host's memory: the next step's rows are put there before forward_x_came()
// and forward_layers(), and are there after forward_x_goes().
float *forward_x(struct forward *f);
void forward_x_came(struct forward *f, size_t rows);
void forward_x_goes(struct forward *f, size_t rows);
void forward_embed(struct forward *f, const struct sched_step *step); // the first stage
void forward_layers(struct forward *f, const struct sched_step *step);
// The last stage: logits[n][vocab] of the n parts that sample, on each of its ranks,
// in the host's memory.
float *forward_logits(struct forward *f, const struct sched_step *step, size_t *n);

#endif
