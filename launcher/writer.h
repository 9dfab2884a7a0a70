// The process that writes the user's files for the launcher: a write to a file cannot be made
// non-blocking, and a file system that hangs (NFS, FUSE) must stop nothing else.
//
// `muster writer` copies its pipe to one file, whole lines at a time (others may append to
// that file, too); `muster writer ""` does so for a log, which goes on when its file takes lines
// again; `muster writer DIR` takes frames and appends each to DIR/rank.N.out or
// DIR/rank.N.err. What cannot be written is told once for each file, and what comes for that
// one is dropped: the pipe is emptied unless a file hangs. It ends, with 0, at the pipe's
// end. Signals that end its launcher do not end it.
#ifndef MUSTER_LAUNCHER_WRITER_H
#define MUSTER_LAUNCHER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

enum { WRITER_FILE = 1, WRITER_IN = 3, WRITER_STATUS = 4 }; // fds it starts with

// Told on WRITER_STATUS; of a single file rank and stream are 0.
struct writer_failure {
    uint32_t rank, stream;
    int errnum;
};

// What goes in front of data for a file of a directory.
struct writer_head {
    uint32_t rank, stream; // 1: out, 2: err
    uint32_t fresh;        // what was in the file goes
    uint32_t len;
};

void writer_frame(struct buf *out, uint32_t rank, unsigned stream, int fresh,
                  const void *p, size_t n);
// DIR/rank.N.out; caller frees.
char *writer_path(const char *dir, uint32_t rank, unsigned stream);

// Until the end of `in`.
void writer_copy(int in, int file, int status, bool log);
// As above; -1 when what came is no frames.
int writer_split(int in, const char *dir, int status);

// The subcommand.
int writer_main(int argc, char **argv);

#endif
