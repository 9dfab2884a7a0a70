// What would change in an /etc/hosts, for people. Pure.
#ifndef MUSTER_HOSTFILE_HOSTS_DIFF_H
#define MUSTER_HOSTFILE_HOSTS_DIFF_H

#include "common/buf.h"

// Appends "-LINE" for lines of `before` that `after` has not, at its place in the file,
// and "+LINE" for the new ones. Blank lines and the padding at ends do not count.
void hosts_diff(const struct buf *before, const struct buf *after, struct buf *out);

#endif
