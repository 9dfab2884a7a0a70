// Bracket ranges: "train-[0-3].train", "node[01-16,20]-ib", also several in one word.
#ifndef MUSTER_HOSTFILE_RANGES_H
#define MUSTER_HOSTFILE_RANGES_H

#include <stddef.h>

#include "common/strv.h"
#include "hostfile/place.h"

enum { RANGES_MAX = 65536, RANGES_BRACKETS_MAX = 16 };

// Appends every name that the word stands for, the last bracket running fastest; a word
// without brackets stands for itself. Zero padding is that of a range's first number.
// Errors: HF_SYNTAX, HF_RANGE_TOO_BIG (more than RANGES_MAX names; nothing is
// expanded).
int ranges_expand(const char *word, size_t len, const struct place *at,
                  struct strv *out, struct err *err);
// Length of the first item of a comma list: commas inside brackets do not end it.
size_t ranges_item(const char *list, size_t len);

#endif
