// Members as hostfiles, by name or by address. Pure.
#ifndef MUSTER_SIDECAR_RENDER_H
#define MUSTER_SIDECAR_RENDER_H

#include <stdbool.h>

#include "hostfile/dialect.h"

// Appends the members in their order. 1: done; 0: nothing, as one of them has no address
// yet; -1: the dialect cannot say it. Warnings are those of dialect_write().
int render(const struct dialect *d, const struct members *m, bool by_name,
           struct buf *out, struct strv *warnings, struct err *err);

#endif
