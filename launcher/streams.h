// Where the launcher's output goes: stdout, stderr and --output DIR. Those that are files
// are written by processes of their own (spool.h): from streams_open() on fds 1 and 2 are
// pipes to them. Where none can be started for fd 1 or 2, a warning says so and it stays.
#ifndef MUSTER_LAUNCHER_STREAMS_H
#define MUSTER_LAUNCHER_STREAMS_H

#include <stdbool.h>

#include "common/err.h"

struct event_base;
struct streams;

// Before anything else prints. Makes `dir` (NULL: none) where it is missing.
struct streams *streams_open(const char *dir, struct err *err);
void streams_destroy(struct streams *s); // NULL-safe

// Is fd 1 or 2 a pipe to a writer of ours?
bool streams_is_file(const struct streams *s, int fd);
// Takes writer_frame()s; -1: no directory.
int streams_dir_fd(const struct streams *s);

// From the loop: `name` cannot be written, what comes for it is dropped.
typedef void (*streams_failed_fn)(void *arg, const char *name, int errnum);
void streams_watch(struct streams *s, struct event_base *base, streams_failed_fn failed,
                   void *arg);
void streams_unwatch(struct streams *s);

// Waits, `ms` at most for each, until the files have all that was put: stdout (when stderr
// is another file) and the directory; then stderr, after which nothing can be told.
// -1 with err: not all was written.
int streams_finish(struct streams *s, int ms, struct err *err);
int streams_finish_stderr(struct streams *s, int ms, struct err *err);

#endif
