// Tokens of an answer as text that can be shown. Pure.
//
// Bytes are kept back while they may be the beginning of a stop string, or of a character of
// UTF-8 whose rest is to come. A NUL becomes U+FFFD; what else is no UTF-8 is the JSON writer's
// to mend.
#ifndef MUSTER_KERNELS_INFER_TEXTOUT_H
#define MUSTER_KERNELS_INFER_TEXTOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "kernels/model/tokenizer.h"

struct textout;

// `before`: the prompt's last token. Stops are copied; empty ones are none.
struct textout *textout_create(const struct tokenizer *t, int32_t before,
                               char *const *stops, size_t nstops);
void textout_destroy(struct textout *x); // NULL-safe

// Appends what can be shown now. True: a stop string has come; nothing follows what is before it.
bool textout_push(struct textout *x, int32_t token, struct buf *out);
// Appends what was kept back: no token follows.
void textout_end(struct textout *x, struct buf *out);

#endif
