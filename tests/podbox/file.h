// Small files and directory trees: the state of a bed is kept in them.
#ifndef MUSTER_PODBOX_FILE_H
#define MUSTER_PODBOX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

// The whole text of a file, or NULL. Caller frees.
char *file_read(const char *path, struct err *err);
// Write in place with truncation, as kubelet writes a hosts file: the inode stays.
int file_write(const char *path, const char *text, mode_t mode, struct err *err);
// Write beside and rename: readers see the old or the new text.
int file_replace(const char *path, const char *text, mode_t mode, struct err *err);
int file_copy(const char *from, const char *to, mode_t mode, struct err *err);
// mkdir -p.
int file_mkdirs(const char *path, mode_t mode, struct err *err);
// rm -rf, never across a mount point; a path that is not there is no error.
int file_remove_tree(const char *path, struct err *err);
bool file_exists(const char *path);

#endif
