// Where in a source a word stands, and errors that say so.
#ifndef MUSTER_HOSTFILE_PLACE_H
#define MUSTER_HOSTFILE_PLACE_H

#include <stddef.h>

#include "common/err.h"

struct place {
    const char *file; // path, or the option that holds the text ("--host")
    unsigned line;    // from 1; 0: the text has no lines
    size_t column;    // of the text's first byte, from 1
};

// Sets "FILE:LINE:COLUMN: KIND: text" for the byte `offset` behind the place. Returns
// -1.
int place_fail(const struct place *at, size_t offset, const char *kind, struct err *err,
               const char *fmt, ...) __attribute__((format(printf, 5, 6)));
// "FILE:LINE:COLUMN: text", as warnings are worded. Caller frees.
char *place_warning(const struct place *at, size_t offset, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// Refuses bytes that no word may hold (HF_ENCODING): controls, NUL, all but ASCII.
int place_check_bytes(const struct place *at, const char *text, size_t len,
                      struct err *err);
// How much of a word goes into a text, for "%.*s".
int place_shown(size_t len);

#endif
