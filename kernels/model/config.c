// Shape of a model: is it one, its header in a file, and where its tensors lie.
#include "kernels/model/config.h"

static const char *const names[MODEL_TENSORS] = {
    [MODEL_EMBEDDING] = "embedding",
    [MODEL_ATT_NORM] = "att_norm",
    [MODEL_WQ] = "wq",
    [MODEL_WK] = "wk",
    [MODEL_WV] = "wv",
    [MODEL_WO] = "wo",
    [MODEL_FFN_NORM] = "ffn_norm",
    [MODEL_W1] = "w1",
    [MODEL_W2] = "w2",
    [MODEL_W3] = "w3",
    [MODEL_FINAL_NORM] = "final_norm",
    [MODEL_CLASSIFIER] = "classifier",
};

const char *model_tensor_name(enum model_tensor t)
{
    return names[t];
}

// ---- checks -----------------------------------------------------------------------

static int check_ranges(const struct model_config *c, struct err *err)
{
    const struct {
        const char *name;
        int32_t is, most;
    } fields[] = {
        {"dim", c->dim, 1 << 20},           {"hidden_dim", c->hidden_dim, 1 << 22},
        {"layers", c->layers, 1 << 12},     {"heads", c->heads, 1 << 16},
        {"kv_heads", c->kv_heads, 1 << 16}, {"vocab", c->vocab, 1 << 24},
        {"seq_len", c->seq_len, 1 << 24}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].is < 1 || fields[i].is > fields[i].most) {
            err_set(err, "%s is %d: it has to be from 1 to %d", fields[i].name,
                    fields[i].is, fields[i].most);
            return -1;
        }
    }
    return 0;
}

static int check_heads(const struct model_config *c, struct err *err)
{
    if (c->dim % c->heads != 0 || c->dim / c->heads % 2 != 0) {
        err_set(err,
                "dim is %d and heads %d: a head has to have a whole, even number "
                "of floats",
                c->dim, c->heads);
        return -1;
    }
    if (c->heads % c->kv_heads != 0) {
        err_set(err, "heads is %d and kv_heads %d: it has to divide heads", c->heads,
                c->kv_heads);
        return -1;
    }
    return 0;
}

// Of a layer, and of what the model has once; in floats. Within the ranges no product
// of three overflows.
static double weight(const struct model_config *c)
{
    double dim = c->dim, kv = (double)c->dim / c->heads * c->kv_heads;
    double layer = 2 * dim + 2 * dim * dim + 2 * dim * kv + 3 * dim * c->hidden_dim;
    return layer * c->layers + dim + dim * c->vocab * (c->shared ? 1 : 2);
}

int model_config_check(const struct model_config *c, struct err *err)
{
    if (check_ranges(c, err) < 0 || check_heads(c, err) < 0)
        return -1;
    if (weight(c) < 1099511627776.0)
        return 0;
    err_set(err, "a model of %.3g parameters: less than 2^40 are possible", weight(c));
    return -1;
}

// ---- the header -------------------------------------------------------------------

enum { FIELDS = MODEL_HEADER_BYTES / 4 };

static void header_fields(const struct model_config *c, int32_t f[FIELDS])
{
    const int32_t fields[FIELDS] = {c->dim,      c->hidden_dim,
                                    c->layers,   c->heads,
                                    c->kv_heads, c->shared ? c->vocab : -c->vocab,
                                    c->seq_len};
    for (int i = 0; i < FIELDS; i++)
        f[i] = fields[i];
}

void model_config_write(const struct model_config *c,
                        uint8_t header[MODEL_HEADER_BYTES])
{
    int32_t f[FIELDS];
    header_fields(c, f);
    for (int i = 0; i < MODEL_HEADER_BYTES; i++)
        header[i] = (uint8_t)((uint32_t)f[i / 4] >> i % 4 * 8);
}

int model_config_read(struct model_config *c, const uint8_t header[MODEL_HEADER_BYTES],
                      struct err *err)
{
    uint32_t f[FIELDS] = {0};
    for (int i = 0; i < MODEL_HEADER_BYTES; i++)
        f[i / 4] |= (uint32_t)header[i] << i % 4 * 8;
    bool shared = (int32_t)f[5] > 0;
    *c = (struct model_config){.dim = (int32_t)f[0],
                               .hidden_dim = (int32_t)f[1],
                               .layers = (int32_t)f[2],
                               .heads = (int32_t)f[3],
                               .kv_heads = (int32_t)f[4],
                               .vocab = (int32_t)(shared ? f[5] : 0 - f[5]),
                               .seq_len = (int32_t)f[6],
                               .shared = shared};
    return model_config_check(c, err);
}

// ---- the layout -------------------------------------------------------------------

struct model_layout model_layout_of(const struct model_config *c)
{
    size_t dim = (size_t)c->dim, hidden = (size_t)c->hidden_dim,
           layers = (size_t)c->layers, vocab = (size_t)c->vocab;
    struct model_layout l = {.tensor = {
                                 [MODEL_EMBEDDING] = {0, vocab, dim, 1},
                                 [MODEL_ATT_NORM] = {0, 1, dim, layers},
                                 [MODEL_WQ] = {0, dim, dim, layers},
                                 [MODEL_WK] = {0, model_kv_dim(c), dim, layers},
                                 [MODEL_WV] = {0, model_kv_dim(c), dim, layers},
                                 [MODEL_WO] = {0, dim, dim, layers},
                                 [MODEL_FFN_NORM] = {0, 1, dim, layers},
                                 [MODEL_W1] = {0, hidden, dim, layers},
                                 [MODEL_W2] = {0, dim, hidden, layers},
                                 [MODEL_W3] = {0, hidden, dim, layers},
                                 [MODEL_FINAL_NORM] = {0, 1, dim, 1},
                                 [MODEL_CLASSIFIER] = {0, vocab, dim, 1},
                             }};
    for (int t = 0; t < MODEL_TENSORS; t++) {
        struct model_place *p = &l.tensor[t];
        bool elsewhere = t == MODEL_CLASSIFIER && c->shared;
        p->at = elsewhere ? l.tensor[MODEL_EMBEDDING].at : l.count;
        l.count += elsewhere ? 0 : p->layers * p->rows * p->cols;
    }
    return l;
}
