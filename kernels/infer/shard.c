// Ranges of layers, heads and rows.
#include "kernels/infer/shard.h"

// The classifier's weights, in layers'.
static double classifier(const struct model_config *c)
{
    double kv_dim = (double)model_head_dim(c) * c->kv_heads;
    return c->vocab / (2.0 * c->dim + 2 * kv_dim + 3.0 * c->hidden_dim);
}

int shard_init(struct shard *s, const struct llama2c *file, const struct place *place,
               bool decodes, struct err *err)
{
    const struct model_config *c = llama2c_config(file);
    int tp = place->tp_size, pp = place->pp_size;
    if (tp > c->kv_heads || pp > c->layers) {
        err_set(
            err,
            "%d tensor-parallel ranks and %d stages: the model has %d heads of keys "
            "and %d layers, and each rank needs one of both",
            tp, pp, c->kv_heads, c->layers);
        return -1;
    }
    struct place_range kv = place_part((size_t)c->kv_heads, tp, place->tp);
    size_t queries = (size_t)(c->heads / c->kv_heads); // that share keys
    *s = (struct shard){
        .file = file,
        .config = *c,
        .place = *place,
        .head_dim = model_head_dim(c),
        .layers =
            place_stage((size_t)c->layers, decodes ? classifier(c) : 0, pp, place->pp),
        .kv_heads = kv,
        .q_heads = {.at = kv.at * queries, .n = kv.n * queries},
        .dim = place_part((size_t)c->dim, tp, place->tp),
        .hidden = place_part((size_t)c->hidden_dim, tp, place->tp),
        .vocab = place_part((size_t)c->vocab, tp, place->tp),
    };
    return 0;
}

bool shard_is_first(const struct shard *s)
{
    return s->place.pp == 0;
}

bool shard_is_last(const struct shard *s)
{
    return s->place.pp == s->place.pp_size - 1;
}

struct place_range shard_range(const struct shard *s, enum model_tensor t)
{
    const struct place_range *heads = t == MODEL_WQ ? &s->q_heads : &s->kv_heads;
    switch (t) {
    case MODEL_WQ:
    case MODEL_WK:
    case MODEL_WV:
        return (struct place_range){heads->at * s->head_dim, heads->n * s->head_dim};
    case MODEL_WO:
    case MODEL_W2: return s->dim;
    case MODEL_W1:
    case MODEL_W3: return s->hidden;
    case MODEL_CLASSIFIER: return s->vocab;
    case MODEL_EMBEDDING: return (struct place_range){0, (size_t)s->config.vocab};
    default: return (struct place_range){0, 1}; // norms are whole on each rank
    }
}

size_t shard_cols(const struct shard *s, enum model_tensor t)
{
    return (size_t)(t == MODEL_W2 ? s->config.hidden_dim : s->config.dim);
}

const float *shard_rows(const struct shard *s, enum model_tensor t, size_t layer)
{
    return llama2c_tensor(s->file, t, layer) + shard_range(s, t).at * shard_cols(s, t);
}
