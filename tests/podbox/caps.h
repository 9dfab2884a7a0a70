// The capabilities of a container that asks for none: what the runtimes give by
// default.
#ifndef MUSTER_PODBOX_CAPS_H
#define MUSTER_PODBOX_CAPS_H

#include "common/err.h"

// Drop all others from every set of the calling process, for good.
int caps_drop(struct err *err);

#endif
