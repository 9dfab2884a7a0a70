// What a container's processes may do: the runtimes' default capabilities, or those of
// a user who is not root.
#ifndef MUSTER_PODBOX_CAPS_H
#define MUSTER_PODBOX_CAPS_H

#include <sys/types.h>

#include "common/err.h"

// Give up everything else, for good. uid 0 keeps the default capabilities, others none.
// Clears the parent-death signal where the user changes.
int caps_become(uid_t uid, gid_t gid, struct err *err);

#endif
