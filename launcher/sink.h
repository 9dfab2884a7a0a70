// One place that output goes to, written without ever blocking the loop. A regular file
// would block it: streams.h puts a pipe in its place.
//
// What is put waits in order; the credit that came with a piece is paid back when the whole
// piece is written. A broken sink swallows everything and pays at once.
#ifndef MUSTER_LAUNCHER_SINK_H
#define MUSTER_LAUNCHER_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct sink;

struct sink_ops {
    void (*paid)(void *arg, uint32_t rank, unsigned stream, size_t bytes);
    // Nothing waits any more.
    void (*idle)(void *arg);
    // Cannot be written (once).
    void (*broken)(void *arg, int errnum);
};

// What a piece pays back, and to whom; bytes 0: nothing.
struct sink_credit {
    uint32_t rank;
    unsigned stream;
    size_t bytes;
};

// `fd` is borrowed and keeps its flags: terminals and pipes are opened anew for us alone.
struct sink *sink_create(struct event_base *base, int fd, const struct sink_ops *ops,
                         void *arg);
void sink_destroy(struct sink *s); // NULL-safe; what waits is lost
// Copies. Nothing is written before sink_flush().
void sink_put(struct sink *s, const void *p, size_t n,
              const struct sink_credit *credit);
void sink_flush(struct sink *s);
// What waits pays nobody when it is written.
void sink_forget(struct sink *s);
bool sink_is_idle(const struct sink *s);
// Bytes written, or swallowed, so far.
uint64_t sink_passed(const struct sink *s);

#endif
