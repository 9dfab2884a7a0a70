// One writer process (writer.h), seen from the launcher: a pipe to put what is to be
// written, which never blocks, and what became of it.
#ifndef MUSTER_LAUNCHER_SPOOL_H
#define MUSTER_LAUNCHER_SPOOL_H

#include "common/err.h"

struct spool;

// Writes to `file` (borrowed; `name` is for texts), from its offset on.
struct spool *spool_to_file(int file, const char *name, struct err *err);
// The same for a log: lines that cannot be written are left out.
struct spool *spool_to_log(int file, const char *name, struct err *err);
// Takes writer_frame()s for the files of a directory.
struct spool *spool_to_dir(const char *dir, struct err *err);
// Kills nobody: a writer that still has something goes on by itself. NULL-safe.
void spool_destroy(struct spool *s);

// The pipe: not to be closed, but by spool_finish().
int spool_fd(const struct spool *s);
// Readable when spool_failed() has news.
int spool_status_fd(const struct spool *s);
// 1: a file could not be written, told once, caller frees *name; 0: no news; -1: the writer
// is gone.
int spool_failed(struct spool *s, char **name, int *errnum);

// Closes the pipe (whoever has copies has closed them) and waits until all is written, at
// most `ms`. -1 with err when that is not sure; failures of single files: spool_failed().
int spool_finish(struct spool *s, int ms, struct err *err);

#endif
