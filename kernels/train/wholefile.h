// Files that are read and replaced as a whole.
#ifndef MUSTER_KERNELS_TRAIN_WHOLEFILE_H
#define MUSTER_KERNELS_TRAIN_WHOLEFILE_H

#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

// Appends the file to `content`; it has to be a regular one of at most `most` bytes. Returns 0; 1:
// there is none; -1.
int wholefile_get(const char *path, size_t most, struct buf *content, struct err *err);
// The file has this content, or the old one: written beside it, fsync, rename, fsync of the folder.
int wholefile_put(const char *path, const struct buf *content, struct err *err);
// After a rename by somebody else: the folder of `path` is on the disk, where its file system can
// do that. 0, or -1 with errno.
int wholefile_sync_folder(const char *path);

#endif
