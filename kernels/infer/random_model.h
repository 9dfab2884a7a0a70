// A model that nobody has trained, for tests and for trying a cluster out.
#ifndef MUSTER_KERNELS_INFER_RANDOM_MODEL_H
#define MUSTER_KERNELS_INFER_RANDOM_MODEL_H

#include <stdint.h>

#include "common/err.h"
#include "kernels/model/config.h"

// "dim=64,hidden=172,layers=4,heads=8,kv_heads=4,vocab=256,length=256,shared=0"; what is left out
// is as it stands here. Errors name the word.
int random_model_parse(const char *text, struct model_config *config, struct err *err);
// Writes the checkpoint.
int random_model_write(const char *path, const struct model_config *config,
                       uint64_t seed, struct err *err);

#endif
