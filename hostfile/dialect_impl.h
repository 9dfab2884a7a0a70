// The inside of dialect.h, for the dialects' own modules only.
#ifndef MUSTER_HOSTFILE_DIALECT_IMPL_H
#define MUSTER_HOSTFILE_DIALECT_IMPL_H

#include "hostfile/dialect.h"
#include "hostfile/gather.h"

struct dialect {
    const char *name;
    const char *alias; // NULL: none
    const char *help;
    const struct gather_rules *rules; // NULL: cannot be read
    // NULL: cannot be written. `out` is cut back by the caller after an error.
    int (*write)(const struct members *m, struct buf *out, struct strv *warnings,
                 struct err *err);
};

// What a dialect has no place for: one warning for all members that have it.
enum dialect_loss {
    LOSS_SLOTS = 1,
    LOSS_MAX_SLOTS = 2,
    LOSS_USER = 4,
    LOSS_PORT = 8,
    LOSS_NO_SLOTS = 16, // no count, which the dialect reads as 1
};
void dialect_tell_losses(const struct members *m, unsigned losses,
                         struct strv *warnings);
// Appends [USER@]NAME; the final dot where the name had one.
void dialect_put_name(const struct member *m, bool user, struct buf *out);

#endif
