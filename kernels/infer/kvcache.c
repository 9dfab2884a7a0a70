// Two buffers.
#include "kernels/infer/kvcache.h"

#include <stdlib.h>

#include "common/mem.h"
#include "kernels/infer/kvwire.h"

struct kvcache {
    const struct compute *compute;
    struct kvwire_part own;
    size_t head_dim;
    float *keys, *values;
    size_t row, layer, slot; // floats of each
};

struct kvcache *kvcache_create(const struct compute *compute, const struct shard *shard,
                               uint32_t slots)
{
    struct kvcache *k = xcalloc(1, sizeof *k);
    k->compute = compute;
    k->own = kvwire_part_of(shard);
    k->head_dim = shard->head_dim;
    k->row = shard->kv_heads.n * shard->head_dim;
    k->layer = k->row * (size_t)shard->config.seq_len;
    k->slot = k->layer * shard->layers.n;
    k->keys = compute->alloc(k->slot * slots * sizeof(float));
    k->values = compute->alloc(k->slot * slots * sizeof(float));
    return k;
}

void kvcache_destroy(struct kvcache *k)
{
    if (k == NULL)
        return;
    k->compute->free(k->keys);
    k->compute->free(k->values);
    free(k);
}

float *kvcache_keys(struct kvcache *k, uint32_t slot, size_t layer)
{
    return k->keys + slot * k->slot + layer * k->layer;
}

float *kvcache_values(struct kvcache *k, uint32_t slot, size_t layer)
{
    return k->values + slot * k->slot + layer * k->layer;
}

size_t kvcache_row(const struct kvcache *k)
{
    return k->row;
}

// Where a part's heads of a layer's first position are.
static float *part_at(const struct kvcache *k, float *base, uint32_t slot,
                      const struct kvwire_part *part, uint32_t layer)
{
    return base + slot * k->slot + (part->layer + layer - k->own.layer) * k->layer +
           (part->head - k->own.head) * k->head_dim;
}

void kvcache_export(const struct kvcache *k, uint32_t slot,
                    const struct kvwire_part *part, uint32_t n, float *out)
{
    size_t width = part->heads * k->head_dim;
    for (uint32_t i = 0; i < 2 * part->layers; i++) {
        const float *from =
            part_at(k, i % 2 == 0 ? k->keys : k->values, slot, part, i / 2);
        for (uint32_t pos = 0; pos < n; pos++, out += width)
            k->compute->get(out, from + pos * k->row, width * sizeof *out);
    }
}

void kvcache_import(struct kvcache *k, uint32_t slot, const struct kvwire_part *part,
                    uint32_t n, const float *in)
{
    size_t width = part->heads * k->head_dim;
    for (uint32_t i = 0; i < 2 * part->layers; i++) {
        float *to = part_at(k, i % 2 == 0 ? k->keys : k->values, slot, part, i / 2);
        for (uint32_t pos = 0; pos < n; pos++, in += width)
            k->compute->put(to + pos * k->row, in, width * sizeof *in);
    }
}
