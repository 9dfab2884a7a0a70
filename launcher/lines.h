// One stream of one rank, cut into whole lines with a prefix. Pure.
//
// A line longer than LINES_HELD_MAX is cut there; all others leave whole, binary bytes
// included, unless lines_end() comes first. The last LINES_TAIL_MAX bytes are kept for those
// who ask why a rank ended.
#ifndef MUSTER_LAUNCHER_LINES_H
#define MUSTER_LAUNCHER_LINES_H

#include <stddef.h>

#include "common/buf.h"

enum { LINES_HELD_MAX = 64 << 20, LINES_TAIL_MAX = 2048 };

struct lines {
    struct buf held; // an unfinished line
    struct buf tail; // what came last
};

// Appends to `out` what is whole now, each line behind `prefix`.
void lines_feed(struct lines *l, const char *prefix, const void *p, size_t n,
                struct buf *out);
// The stream has ended, or its line is not waited for: appends what there is of it.
void lines_end(struct lines *l, const char *prefix, struct buf *out);
// The last lines, at most `max` (at least 1), each behind `indent`, without a final newline;
// nothing when there are none. Control characters become '?'.
void lines_tail(const struct lines *l, unsigned max, const char *indent,
                struct buf *out);
void lines_free(struct lines *l);

#endif
