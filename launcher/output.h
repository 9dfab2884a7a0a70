// What the ranks print: assembled to whole lines, written to the user's stdout and stderr.
//
// Lines of several ranks are never mixed; the order within a rank and stream is kept. A
// blocked terminal or pipe blocks only the output: bytes wait here, and the rank's credit
// is given back only when they are written (a line still without its end counts as written
// so that long lines get through; one over LINE_MAX_BYTES is cut).
#ifndef MUSTER_LAUNCHER_OUTPUT_H
#define MUSTER_LAUNCHER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct output;

enum { OUTPUT_LINE_MAX = 64 << 20, OUTPUT_CREDIT = 1 << 20 };

struct output_ops {
    // `bytes` of a rank's stream (1 or 2) were passed on.
    void (*credit)(void *arg, uint32_t rank, unsigned stream, size_t bytes);
    // Nothing waits any more and all streams are at their end.
    void (*drained)(void *arg);
    // The user's stream cannot be written (EPIPE): what comes is dropped from now on.
    void (*broken)(void *arg, int fd, int errnum);
};

struct output *output_create(struct event_base *base, int out_fd, int err_fd,
                             uint32_t ranks, const struct output_ops *ops, void *arg);
// So many ranks more, numbered on.
void output_add(struct output *o, uint32_t ranks);
void output_destroy(struct output *o);
void output_data(struct output *o, uint32_t rank, unsigned stream, const void *p,
                 size_t n);
// No more comes from this stream (repeats are allowed).
void output_eof(struct output *o, uint32_t rank, unsigned stream);
bool output_is_drained(const struct output *o);

#endif
