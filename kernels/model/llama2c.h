// A model's file: llama2.c's checkpoint, version 0, float32, little-endian.
//
//   offset  what
//   0       int32 dim, hidden_dim, layers, heads, kv_heads, vocab (negative: the classifier
//           has weights of its own), seq_len
//   28      the tensors of enum model_tensor, in its order (kernels/model/config.h)
//   ...     before the classifier, if it is there: cos, then sin of RoPE, each
//           [seq_len][head_dim / 2]; written, and passed over when read
//
// The size has to fit exactly. Weights are the file's own pages, mapped.
#ifndef MUSTER_KERNELS_MODEL_LLAMA2C_H
#define MUSTER_KERNELS_MODEL_LLAMA2C_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/sha256.h"
#include "kernels/model/config.h"

struct llama2c;

// Errors name the file and the offset of what is wrong.
struct llama2c *llama2c_open(const char *path, struct err *err);
void llama2c_close(struct llama2c *c); // NULL-safe

const struct model_config *llama2c_config(const struct llama2c *c);
// Weights of a layer's tensor (0 for the model's own): rows x cols of its model_place.
const float *llama2c_tensor(const struct llama2c *c, enum model_tensor t, size_t layer);
// SHA-256 of the whole file: which model it is. Reads all of it.
void llama2c_hash(const struct llama2c *c, char out[SHA256_HEX]);
// CRC-32 of the whole file: enough to tell a wrong one, and several times faster.
uint32_t llama2c_crc(const struct llama2c *c);

// Is it one? `n` bytes in memory; `name` is for errors. Pure.
int llama2c_check(const char *name, const uint8_t *data, size_t n,
                  struct model_config *config, struct err *err);

// Writes beside, then renames. `weights` is the flat buffer of model_layout_of().
int llama2c_write(const char *path, const struct model_config *config,
                  const float *weights, struct err *err);
// Weights of a model that nobody has trained, the same for a seed everywhere. `weights` as above.
void llama2c_fill_random(const struct model_config *config, uint64_t seed,
                         float *weights);

#endif
