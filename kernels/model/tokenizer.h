// Text to tokens and back: llama2.c's tokenizer.bin, or bytes where a model has none.
//
// The file, little-endian: int32 longest token in bytes; then for each token of the model's
// vocabulary float32 score, int32 length, that many bytes (no NUL). Tokens 1 and 2 begin and
// end a text; "<0x00>" ... "<0xFF>" stand for single bytes. A tokenizer of bytes has the
// tokens 0 to 255, and none that begins or ends a text.
#ifndef MUSTER_KERNELS_MODEL_TOKENIZER_H
#define MUSTER_KERNELS_MODEL_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"

struct tokenizer;

enum {
    TOKENIZER_BOS = 1,
    TOKENIZER_EOS = 2,
    TOKENIZER_BYTES = 256,         // vocabulary of a model of bytes
    TOKENIZER_VOCAB_MAX = 1 << 20, // as the model's
    TOKENIZER_PIECE_MAX = 4096,    // bytes of a token
};

// One token, as the file has it. Bytes are borrowed.
struct tokenizer_piece {
    float score;
    uint32_t len;
    const char *bytes;
};

// A growing list of tokens; all-zero is empty.
struct tokens {
    int32_t *at; // owned
    size_t n, cap;
};
void tokens_add(struct tokens *t, int32_t token);
void tokens_free(struct tokens *t);
#define TOKENS_AUTO __attribute__((cleanup(tokens_free))) struct tokens

// Errors name the file and the offset of the field that is wrong. `vocab` is the model's.
struct tokenizer *tokenizer_load(const char *path, int vocab, struct err *err);
// The same of bytes in memory; `name` is for errors. Pure.
struct tokenizer *tokenizer_parse(const char *name, const void *data, size_t n,
                                  int vocab, struct err *err);
// Of pieces; what they point to is copied.
struct tokenizer *tokenizer_create(const struct tokenizer_piece *pieces, int n,
                                   struct err *err);
struct tokenizer *tokenizer_create_bytes(void);
void tokenizer_destroy(struct tokenizer *t); // NULL-safe

int tokenizer_vocab(const struct tokenizer *t);
uint32_t tokenizer_longest(const struct tokenizer *t); // bytes of a token at most
struct tokenizer_piece tokenizer_at(const struct tokenizer *t, int32_t token);
// Appends the file's bytes. A tokenizer of bytes has no file.
void tokenizer_render(const struct tokenizer *t, struct buf *out);

// Appends the tokens of a whole text, the one that begins a text first. A text of no bytes
// gives one token in any case: models need something to go on from.
void tokenizer_encode(const struct tokenizer *t, const char *text, size_t n,
                      struct tokens *out);
// Appends the bytes of a token that follows `before` (-1: none). The blank that encoding puts
// before a text is taken away behind the token that begins one.
void tokenizer_decode(const struct tokenizer *t, int32_t before, int32_t token,
                      struct buf *out);
// Does a text end with it?
bool tokenizer_is_end(const struct tokenizer *t, int32_t token);

#endif
