// One member of a hostfile gets another address: the one word of the text that names it.
//
// All other bytes stay: comments, blanks, ends of lines, counts. The new text is read
// back by the dialect and must be the old list with that member changed, or nothing is
// given. Pure.
#ifndef MUSTER_HOSTFILE_REWRITE_H
#define MUSTER_HOSTFILE_REWRITE_H

#include <stdbool.h>

#include "common/buf.h"
#include "common/err.h"
#include "hostfile/dialect.h"

struct rewrite {
    char *name;    // of the member, as it was listed; owned
    bool changed;  // false: it has this address already, and `text` is empty
    size_t places; // where it stood: a host that is listed n times changes n words
    struct buf text;
};

#define REWRITE_AUTO __attribute__((cleanup(rewrite_free))) struct rewrite

// `member`: a name as filter_find() takes it, or the address that stands for a name.
// `err` must not be NULL. Errors are those of dialect_read(), and HF_NO_SUCH_HOST (with near
// names), AMBIGUOUS_HOST, HF_BAD_ADDRESS, HF_DUP_ADDRESS (another member has it), HF_OWN_OUTPUT
// (muster-sidecar's file), HF_CANNOT_WRITE (a range, or what the dialect would misread).
int rewrite_member(const struct dialect *d, const char *text, size_t len,
                   const char *file, const char *member, const char *address,
                   struct rewrite *out, struct err *err);
void rewrite_free(struct rewrite *r);
// Is this an address that a member can have? HF_BAD_ADDRESS says why not.
int rewrite_check_address(const char *address, struct err *err);

#endif
