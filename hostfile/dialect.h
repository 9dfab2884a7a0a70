// The dialects of hostfiles: one table of readers and writers.
//
// Every dialect reads a text whole, or refuses it with one error and leaves *out alone.
// "auto" takes the forms of all dialects where they mean the same to all that know
// them, refuses the rest, and says which dialect the text was.
#ifndef MUSTER_HOSTFILE_DIALECT_H
#define MUSTER_HOSTFILE_DIALECT_H

#include <stdio.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/strv.h"
#include "hostfile/members.h"

struct dialect;

const struct dialect *dialect_auto(void);
// As auto, for a hostfile that chooses from another list: +n0, +e:2 (filter.h). Not in
// the table.
const struct dialect *dialect_filter(void);
// For a value of `option`. NULL with err that lists the names. `writes`: one that can
// be written ("json", not "auto").
const struct dialect *dialect_find(const char *name, const char *option, bool writes,
                                   struct err *err);
const char *dialect_name(const struct dialect *d);
// One line a dialect, for --help and manuals.
void dialect_list(FILE *out);

// Reads `text` in linear time. `file` is for texts; `self` is this machine's name,
// which replaces localhost (NULL: never). *as (may be NULL) is what the text was taken
// as: `d` itself unless that is "auto", which stays when the text has forms of several
// dialects. Some dialects list a host more than once: see members_merge().
// Errors: "FILE:LINE:COLUMN: KIND: text", see gather.h.
int dialect_read(const struct dialect *d, const char *text, size_t len,
                 const char *file, const char *self, struct members *out,
                 const struct dialect **as, struct err *err);
// Where words->name stands in a text that dialect_read() takes: in *words, which are
// freed by gather_words_free(); slices of the text.
struct gather_words;
int dialect_words(const struct dialect *d, const char *text, size_t len,
                  const char *file, struct gather_words *words, struct err *err);
// Appends the members in the dialect's form. What it has no place for (a port, a user,
// a count) is a warning, what would make the text wrong is an error (HF_CANNOT_WRITE):
// then nothing is appended.
int dialect_write(const struct dialect *d, const struct members *m, struct buf *out,
                  struct strv *warnings, struct err *err);

#endif
