// One copy a tensor and layer.
#include "kernels/infer/weights.h"

#include <stdlib.h>

#include "common/mem.h"

struct weights {
    const struct compute *compute;
    const struct shard *shard;
    size_t layers;
    float **copies; // [MODEL_TENSORS][layers]; NULL: not yet used
};

struct weights *weights_create(const struct compute *compute, const struct shard *shard)
{
    struct weights *w = xcalloc(1, sizeof *w);
    *w = (struct weights){
        .compute = compute, .shard = shard, .layers = (size_t)shard->config.layers};
    w->copies = xcalloc(MODEL_TENSORS * w->layers, sizeof *w->copies);
    return w;
}

void weights_destroy(struct weights *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < MODEL_TENSORS * w->layers; i++)
        w->compute->free(w->copies[i]);
    free(w->copies);
    free(w);
}

const float *weights_rows(struct weights *w, enum model_tensor t, size_t layer)
{
    const float *rows = shard_rows(w->shard, t, layer);
    float **copy = &w->copies[(size_t)t * w->layers + layer];
    if (w->compute->host)
        return rows;
    if (*copy == NULL) {
        size_t bytes =
            shard_range(w->shard, t).n * shard_cols(w->shard, t) * sizeof *rows;
        *copy = w->compute->alloc(bytes);
        w->compute->put(*copy, rows, bytes);
    }
    return *copy;
}
