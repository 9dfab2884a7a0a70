// The text that is learnt: any file, its bytes are the tokens.
#ifndef MUSTER_KERNELS_TRAIN_TEXT_H
#define MUSTER_KERNELS_TRAIN_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

enum { TEXT_VOCAB = 256 };

struct text;

// Maps the file. Error: it is shorter than `least` bytes, or cannot be read.
struct text *text_open(const char *path, size_t least, struct err *err);
void text_close(struct text *t); // NULL-safe
size_t text_len(const struct text *t);
uint32_t text_crc(const struct text *t);
// n tokens (<= `least`) of sample `i` of a step: where they begin is random by these alone.
void text_sample(const struct text *t, uint64_t seed, uint64_t step, uint64_t i,
                 int32_t *tokens, size_t n);

#endif
