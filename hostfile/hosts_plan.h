// From the bytes of an /etc/hosts and the lines wanted to the writes that bring them
// there. Pure.
//
// A reader that runs beside finds a member that stays in every state between two writes,
// and never half a line:
//   - a changed address is one write inside its line;
//   - another use of a slot comments it out, fills it, and ends with its first byte;
//   - what is new at the end comes in writes that fill pages in order;
//   - what goes is commented out by one byte, and blanked then;
//   - nothing moves, and the file never gets shorter.
// A block that has to grow in front of lines of others is written anew at the end first,
// and then blanked where it was.
#ifndef MUSTER_HOSTFILE_HOSTS_PLAN_H
#define MUSTER_HOSTFILE_HOSTS_PLAN_H

#include <stddef.h>

#include "common/buf.h"
#include "hostfile/hosts_want.h"

struct hosts_write {
    size_t off, len;
    size_t at; // of its bytes in hosts_plan.bytes
};

struct hosts_plan {
    struct hosts_write *v; // in this order; none crosses a page
    size_t n, cap;
    struct buf bytes;
};

// No write: the file is as wanted. `cut` as for hosts_block_find(). Free with
// hosts_plan_free().
void hosts_plan(const char *text, size_t len, size_t cut, const struct hosts_want *want,
                struct hosts_plan *out);
const char *hosts_plan_bytes(const struct hosts_plan *p, size_t i);
void hosts_plan_free(struct hosts_plan *p);
// Does to the bytes what the first `n` writes do to the file.
void hosts_plan_apply(const struct hosts_plan *p, size_t n, struct buf *file);

#endif
