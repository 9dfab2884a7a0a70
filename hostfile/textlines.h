// The lines of a text that names hosts: comments, blanks, CRLF and a byte order mark off.
#ifndef MUSTER_HOSTFILE_TEXTLINES_H
#define MUSTER_HOSTFILE_TEXTLINES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/strv.h"
#include "hostfile/place.h"

struct textline {
    struct place at; // of its first byte
    const char *s;   // slice of the text; blanks at both ends are off
    size_t len;      // never 0
};

// Walks over `text`; set it up with textlines_start().
struct textlines {
    const char *rest;
    size_t len;
    struct place at; // of `rest`
    bool crlf;       // was told
    struct strv *warnings;
};

// Warnings (byte order mark, CRLF: once each) are appended to `warnings`.
struct textlines textlines_start(const char *text, size_t len, const char *file,
                                 struct strv *warnings);
// The next line that holds something: 1, or 0 at the end. -1: bytes that no line may
// hold (HF_ENCODING); a comment may hold anything but NUL.
int textlines_next(struct textlines *t, struct textline *line, struct err *err);
// Length of the first word of a line.
size_t textlines_word(const char *s, size_t len);
// Index of the first byte that is no blank, from `i` on.
size_t textlines_skip(const char *s, size_t len, size_t i);

#endif
