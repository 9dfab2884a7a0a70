// A rank's weights, where its back end reads them: in the mapped file, or copied to a GPU when
// they are first used.
#ifndef MUSTER_KERNELS_INFER_WEIGHTS_H
#define MUSTER_KERNELS_INFER_WEIGHTS_H

#include "kernels/compute/compute.h"
#include "kernels/infer/shard.h"

struct weights;

// All borrowed.
struct weights *weights_create(const struct compute *compute,
                               const struct shard *shard);
void weights_destroy(struct weights *w); // NULL-safe
// As shard_rows(), in the back end's memory.
const float *weights_rows(struct weights *w, enum model_tensor t, size_t layer);

#endif
