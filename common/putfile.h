// A file of somebody else's that is changed as a whole: read under a lock, replaced by
// rename.
//
// The lock is on the file itself (flock), so that two changes at once follow each other;
// readers need none: they have the old file or the new one. Symbolic links stay: what
// they lead to is replaced. Mode and owner stay, too.
#ifndef MUSTER_COMMON_PUTFILE_H
#define MUSTER_COMMON_PUTFILE_H

#include "common/buf.h"
#include "common/err.h"

enum { PUTFILE_WAIT_MS = 10000 };

struct putfile;

// Locks the file, waiting PUTFILE_WAIT_MS for who has it. Errors: "FILE: KIND: text" with
// PUT_NOT_FOUND, PUT_BUSY, PUT_FAILED.
struct putfile *putfile_open(const char *path, struct err *err);
// Replaces the content. Errors: PUT_READONLY (the directory cannot be written, or the
// file is a mount of its own), PUT_CHANGED (somebody who took no lock has changed it
// since putfile_open()), PUT_FAILED; the old content stays.
int putfile_write(struct putfile *p, const struct buf *text, struct err *err);
void putfile_close(struct putfile *p); // NULL-safe

#endif
