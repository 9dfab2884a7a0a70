// A file that is replaced as a whole, in a directory that this program may change.
//
// One process writes a file: it holds a lock on .NAME.lock beside it, which goes with the
// process. What is written goes to .NAME.new and takes the place by rename: readers have
// the old file or the new one.
#ifndef MUSTER_SIDECAR_OUTFILE_H
#define MUSTER_SIDECAR_OUTFILE_H

#include <stdbool.h>

#include "common/buf.h"
#include "common/err.h"

struct outfile;

// Errors: OUT_NO_DIRECTORY, OUT_READONLY (a ConfigMap's mount, or no permission),
// OUT_BUSY (another process writes it), OUT_FAILED.
struct outfile *outfile_create(const char *path, struct err *err);
void outfile_destroy(struct outfile *o); // NULL-safe; the file stays

// 1: replaced, 0: it reads so already, -1 with err (OUT_NO_SPACE too): the old one stays.
int outfile_put(struct outfile *o, const struct buf *text, struct err *err);
// The file goes, the lock stays.
void outfile_remove(struct outfile *o);
// Does a process hold the lock of that file? Needs no more than to read the directory.
bool outfile_is_kept(const char *path);

#endif
