// One rank's standard streams: stdin from /dev/null or a pipe, stdout and stderr through
// pipes that are read only as far as their credit goes.
//
// A stream without credit is not read: its pipe fills and the rank waits, nothing else
// does. The end of a stream is its pipe's: every process that holds it has closed it.
#ifndef MUSTER_AGENT_RANK_IO_H
#define MUSTER_AGENT_RANK_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/rank_in.h"
#include "common/err.h"
#include "common/proc.h"

struct event_base;
struct rank_io;

enum { RANK_IO_STDIN, RANK_IO_STDOUT, RANK_IO_STDERR, RANK_IO_STREAMS };

// A piece of output, at most FRAME_BULK_MAX bytes, or (len 0, eof) the end of the
// stream, once. It must not destroy the object.
typedef void (*rank_io_output_fn)(void *arg, uint32_t stream, const uint8_t *data,
                                  size_t len, bool eof);

// Opens both ends. `credit`: bytes that each stream may pass on before rank_io_credit.
// `taken`: NULL for a stdin from /dev/null, else it is told what went into stdin's pipe.
struct rank_io *rank_io_create(struct event_base *base, uint64_t credit,
                               rank_io_output_fn output, rank_in_taken_fn taken,
                               void *arg, struct err *err);
void rank_io_destroy(struct rank_io *io); // what was not passed on is lost

// What the rank gets as its fds 0 to 2; RANK_IO_STREAMS entries, for proc_spawn.
const struct proc_fd *rank_io_child_fds(const struct rank_io *io);
// The rank runs: closes its ends here and begins to read.
void rank_io_started(struct rank_io *io);
// For stdin; ignored where it is /dev/null.
void rank_io_input(struct rank_io *io, const void *data, size_t n, bool eof);
// More credit; streams other than stdout and stderr are ignored.
void rank_io_credit(struct rank_io *io, uint32_t stream, uint64_t bytes);
// Nobody writes any more, whoever holds the pipe: what it holds is passed on as credit
// comes, then the stream ends.
void rank_io_finish(struct rank_io *io);
// Have both streams ended?
bool rank_io_ended(const struct rank_io *io);

#endif
