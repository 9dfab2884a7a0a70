// The managed block in the file itself: locked, changed in place, read back.
//
// One process keeps a file: a write lock (fcntl F_OFD_SETLK) on the file, which all
// containers of a pod share, goes with the process. Readers know nothing of it.
#ifndef MUSTER_HOSTFILE_HOSTS_FILE_H
#define MUSTER_HOSTFILE_HOSTS_FILE_H

#include <stdbool.h>

#include "common/buf.h"
#include "common/err.h"
#include "hostfile/hosts_want.h"

struct hosts_file;

// Errors: HOSTS_NOT_FOUND, HOSTS_NOT_A_FILE, HOSTS_READONLY (mount or permission),
// HOSTS_BUSY (another process keeps it), HOSTS_UNREADABLE.
struct hosts_file *hosts_file_open(const char *path, struct err *err);
void hosts_file_close(struct hosts_file *f); // NULL-safe; the block stays

enum hosts_result {
    HOSTS_FAILED = -1,
    HOSTS_SAME,      // nothing to do
    HOSTS_WRITTEN,   // now as wanted
    HOSTS_DISTURBED, // somebody is rewriting the file: ask again when it is quiet
};

// Brings the file there. A file that has lost what was written last is left alone unless
// `settled`: who truncated it will write next. Errors as above, and HOSTS_NO_SPACE; each
// leaves whole lines, and the next call goes on from there.
enum hosts_result hosts_file_sync(struct hosts_file *f, const struct hosts_want *want,
                                  bool settled, struct err *err);

// Dry run, without lock: appends the lines that would go ("-...") and come ("+...").
int hosts_file_diff(const char *path, const struct hosts_want *want, struct buf *out,
                    struct err *err);

// Whose file is it? True when kubelet made it for a pod with a network of its own; else
// HOSTS_FOREIGN_FILE says what it is, and what to do.
bool hosts_file_is_pods(const char *path, struct err *err);

#endif
