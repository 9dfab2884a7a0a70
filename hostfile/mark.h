// The first line of every hostfile that muster-sidecar writes. Pure.
#ifndef MUSTER_HOSTFILE_MARK_H
#define MUSTER_HOSTFILE_MARK_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

void mark_append(struct buf *out, const char *source);
bool mark_is_there(const char *text, size_t len);

#endif
