// Lists of names in the form of host ranges: the way back from ranges.h.
#ifndef MUSTER_HOSTFILE_SQUEEZE_H
#define MUSTER_HOSTFILE_SQUEEZE_H

#include <stddef.h>

#include "common/buf.h"

// Appends "a,node[01-16,20]-ib,z": ranges_expand() of its items gives the same names in
// the same order, byte for byte (numbers of more than 18 digits stay as they are).
void squeeze(char *const *names, size_t n, struct buf *out);

#endif
