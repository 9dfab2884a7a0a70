// Shape of a llama-like model, and where its tensors lie in one flat buffer of floats.
//
// Shape and order are those of llama2.c's checkpoints, version 0: seven int32 (a negative
// vocab: the classifier has weights of its own), then the tensors in the order of enum
// model_tensor, each with all its layers one after the other. Such a file has two tables for
// RoPE before the classifier, which the layout leaves out (see MODEL_CLASSIFIER).
#ifndef MUSTER_KERNELS_MODEL_CONFIG_H
#define MUSTER_KERNELS_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct model_config {
    int32_t dim;        // of the residual stream
    int32_t hidden_dim; // of the feed-forward layer
    int32_t layers;
    int32_t heads;    // of queries; dim / heads is even
    int32_t kv_heads; // of keys and values; divides heads
    int32_t vocab;    // > 0
    int32_t seq_len;  // longest sequence
    bool shared;      // the classifier is the embedding
};

enum { MODEL_HEADER_BYTES = 28 };

// Each is [layers][rows][columns], or without layers where it is the model's.
enum model_tensor {
    MODEL_EMBEDDING,  // [vocab][dim]
    MODEL_ATT_NORM,   // [layers][dim]
    MODEL_WQ,         // [layers][dim][dim]: a row an output, as all that follow
    MODEL_WK,         // [layers][kv_dim][dim]
    MODEL_WV,         // [layers][kv_dim][dim]
    MODEL_WO,         // [layers][dim][dim]
    MODEL_FFN_NORM,   // [layers][dim]
    MODEL_W1,         // [layers][hidden][dim]: gate
    MODEL_W2,         // [layers][dim][hidden]: down
    MODEL_W3,         // [layers][hidden][dim]: up
    MODEL_FINAL_NORM, // [dim]
    MODEL_CLASSIFIER, // [vocab][dim]; the embedding's place where that is shared. In a file
                      // 2 * seq_len * head_dim / 2 floats lie before it
    MODEL_TENSORS,
};

struct model_place {
    size_t at;     // in floats from the buffer's start, of layer 0
    size_t rows;   // of a layer; 1 for norms
    size_t cols;   // floats of a row
    size_t layers; // 1 for the model's own
};

struct model_layout {
    struct model_place tensor[MODEL_TENSORS];
    size_t count; // floats of the whole buffer
};

static inline size_t model_head_dim(const struct model_config *c)
{
    return (size_t)(c->dim / c->heads);
}

static inline size_t model_kv_dim(const struct model_config *c)
{
    return model_head_dim(c) * (size_t)c->kv_heads;
}

// Is it a model at all, of less than 2^40 floats? The error names the field and what it has
// to be; the caller prefixes where it is from.
int model_config_check(const struct model_config *c, struct err *err);
// The header as it stands in a file, both ways (little-endian). Reading checks.
void model_config_write(const struct model_config *c,
                        uint8_t header[MODEL_HEADER_BYTES]);
int model_config_read(struct model_config *c, const uint8_t header[MODEL_HEADER_BYTES],
                      struct err *err);
// Of a checked config.
struct model_layout model_layout_of(const struct model_config *c);
// "wq", for texts.
const char *model_tensor_name(enum model_tensor t);

// Where one layer's tensor begins, in floats. layer is 0 for the model's own.
static inline size_t model_at(const struct model_layout *l, enum model_tensor t,
                              size_t layer)
{
    const struct model_place *p = &l->tensor[t];
    return p->at + layer * p->rows * p->cols;
}

#endif
