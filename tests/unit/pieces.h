// A small tokenizer as llama2.c's trainer makes them: three special tokens, 256 of bytes, and a
// few pieces with scores.
#ifndef MUSTER_TESTS_UNIT_PIECES_H
#define MUSTER_TESTS_UNIT_PIECES_H

#include <stdio.h>
#include <string.h>

#include "kernels/model/tokenizer.h"

enum { PIECES_BYTE = 3, PIECES_FIRST = 259, PIECES_N = 272 };

struct pieces {
    char names[256][8];
    struct tokenizer_piece all[PIECES_N];
};

// Scores fall with the token, as the trainer's do.
static inline void pieces_fill(struct pieces *p)
{
    static const char *const words[PIECES_N - PIECES_FIRST] = {
        " h", "el", "lo", " hel", " hello",   "ll", " ",
        "h",  "e",  "l",  "o",    "\xC3\xA9", "!"};
    static const char *const special[] = {"<unk>", "\n<s>\n", "\n</s>\n"};
    for (int i = 0; i < 3; i++)
        p->all[i] = (struct tokenizer_piece){.bytes = special[i]};
    for (unsigned i = 0; i < 256; i++) {
        snprintf(p->names[i], sizeof p->names[i], "<0x%02X>", i);
        p->all[PIECES_BYTE + i] = (struct tokenizer_piece){.bytes = p->names[i]};
    }
    for (int i = PIECES_FIRST; i < PIECES_N; i++)
        p->all[i] = (struct tokenizer_piece){.bytes = words[i - PIECES_FIRST],
                                             .score = (float)(PIECES_FIRST - i)};
    for (int i = 0; i < PIECES_N; i++)
        p->all[i].len = (uint32_t)strlen(p->all[i].bytes);
}

#endif
