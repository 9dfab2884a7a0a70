// Units of parameters: which tensors lie where, and which part is whose.
#include "kernels/train/units.h"

static const enum model_tensor outer_tensors[] = {MODEL_EMBEDDING, MODEL_CLASSIFIER,
                                                  MODEL_FINAL_NORM};
static const enum model_tensor layer_tensors[] = {
    MODEL_WQ, MODEL_WK, MODEL_WV,       MODEL_WO,      MODEL_W1,
    MODEL_W2, MODEL_W3, MODEL_ATT_NORM, MODEL_FFN_NORM};

static bool is_norm(enum model_tensor t)
{
    return t == MODEL_ATT_NORM || t == MODEL_FFN_NORM || t == MODEL_FINAL_NORM;
}

static struct unit make_unit(const struct model_config *c,
                             const enum model_tensor *tensors, size_t n)
{
    struct model_layout layout = model_layout_of(c);
    struct unit u = {0};
    for (int t = 0; t < MODEL_TENSORS; t++)
        u.at[t] = UNIT_NONE;
    for (size_t i = 0; i < n; i++) {
        enum model_tensor t = tensors[i];
        size_t count = layout.tensor[t].rows * layout.tensor[t].cols;
        if (t == MODEL_CLASSIFIER && c->shared) {
            u.at[t] = u.at[MODEL_EMBEDDING];
            continue;
        }
        u.at[t] = u.count;
        u.count += count;
        u.decayed += is_norm(t) ? 0 : count;
    }
    return u;
}

struct units units_of(const struct model_config *config)
{
    return (struct units){
        .config = *config,
        .outer = make_unit(config, outer_tensors,
                           sizeof outer_tensors / sizeof *outer_tensors),
        .layer = make_unit(config, layer_tensors,
                           sizeof layer_tensors / sizeof *layer_tensors),
        .n = 1 + (size_t)config->layers,
    };
}

const struct unit *units_get(const struct units *u, size_t i)
{
    return i == 0 ? &u->outer : &u->layer;
}

size_t units_count(const struct units *u)
{
    return u->outer.count + u->layer.count * (u->n - 1);
}

static size_t up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

size_t unit_shard(const struct unit *u, size_t ranks)
{
    return up(up(u->count, UNIT_BLOCK), ranks) * UNIT_BLOCK;
}

struct unit_slice unit_slice_of(const struct unit *u, size_t rank, size_t ranks)
{
    size_t shard = unit_shard(u, ranks), at = rank * shard;
    if (at >= u->count)
        return (struct unit_slice){u->count, 0};
    return (struct unit_slice){at, u->count - at < shard ? u->count - at : shard};
}
