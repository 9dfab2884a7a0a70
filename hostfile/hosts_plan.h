// From the bytes of an /etc/hosts and the lines wanted to the writes that bring them
// there. Pure.
//
// A reader that runs beside copies the file forwards, and can stop anywhere for a while,
// in the middle of a line too (a page fault, another program's turn). It finds every
// member that stays, and never half a line, because
//   - a line that counts never changes but in its first byte, and that byte is the switch:
//     '#' retires it;
//   - a changed address is another line: a free slot is filled behind its '#', switched
//     on, and the old one is retired;
//   - a retired slot is filled again only when it has rested: whoever was reading it then
//     has gone on;
//   - what is new at the end comes in writes that fill pages in order;
//   - nothing moves, and the file never gets shorter.
// A block that has to grow in front of lines of others is written anew at the end; the
// next plans retire and blank the old one.
#ifndef MUSTER_HOSTFILE_HOSTS_PLAN_H
#define MUSTER_HOSTFILE_HOSTS_PLAN_H

#include <stddef.h>

#include "common/buf.h"
#include "hostfile/hosts_want.h"

struct hosts_write {
    size_t off, len;
    size_t at; // of its bytes in hosts_plan.bytes
};

// Offsets of lines, ascending.
struct hosts_offsets {
    size_t *v;
    size_t n, cap;
};

struct hosts_plan {
    struct hosts_write *v; // in this order; none crosses a page
    size_t n, cap;
    struct buf bytes;
    struct hosts_offsets retired; // by this plan; in no order
};

// No write: the file is as wanted. `resting`: lines that were retired not long ago. `cut` as
// for hosts_block_find(). Free with hosts_plan_free().
void hosts_plan(const char *text, size_t len, size_t cut, const struct hosts_want *want,
                const struct hosts_offsets *resting, struct hosts_plan *out);
void hosts_offsets_add(struct hosts_offsets *o, size_t off);
const char *hosts_plan_bytes(const struct hosts_plan *p, size_t i);
void hosts_plan_free(struct hosts_plan *p);
// Does to the bytes what the first `n` writes do to the file.
void hosts_plan_apply(const struct hosts_plan *p, size_t n, struct buf *file);

#endif
