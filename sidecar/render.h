// Members as hostfiles of the dialects that are known. Pure.
#ifndef MUSTER_SIDECAR_RENDER_H
#define MUSTER_SIDECAR_RENDER_H

#include <stdbool.h>

#include "common/buf.h"
#include "hostfile/members.h"

struct render_dialect;

// By name ("openmpi"), NULL when there is none.
const struct render_dialect *render_find(const char *name, size_t len);
// "openmpi, ..."; caller frees.
char *render_names(void);
// Appends the members in their order; by address, or by name. False, with nothing
// appended, when one of them has no address.
bool render(const struct render_dialect *d, const struct members *m, bool by_name,
            struct buf *out);

#endif
