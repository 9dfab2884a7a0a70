// Reading a whole file that somebody named, bounded in size and time.
#ifndef MUSTER_HOSTFILE_SLURP_H
#define MUSTER_HOSTFILE_SLURP_H

#include "common/buf.h"
#include "common/err.h"

enum { SLURP_MAX = 64 << 20, SLURP_WAIT_MS = 10000 };

// Appends the file to `out`. Errors: HF_NOT_FOUND, HF_NOT_A_FILE (a directory, a
// device), HF_UNREADABLE, HF_TOO_BIG (over SLURP_MAX). A pipe is read to its end, for
// SLURP_WAIT_MS at most.
int slurp(const char *path, struct buf *out, struct err *err);

#endif
