// What the ranks print: assembled to whole lines, tagged, written to the user's stdout and
// stderr or to a file a rank.
//
// Lines of several ranks are never mixed; the order within a rank and stream is kept. A
// blocked terminal or pipe blocks only the output: bytes wait here, and the rank's credit
// is given back only when they are written (a line still without its end counts as written
// so that long lines get through; such lines are bounded, each and all together).
#ifndef MUSTER_LAUNCHER_OUTPUT_H
#define MUSTER_LAUNCHER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct event_base;
struct output;

struct output_style {
    bool tag;         // "[3]<stdout>: " before each line
    const char *role; // of the ranks: "[prefill.3]<stdout>: "; NULL: none
    bool timestamp;   // wall clock (UTC) at which the line came here
    bool merge;       // the ranks' stderr goes where their stdout goes
    const char *dir;  // NULL, or: rank N writes to DIR/rank.N.out and DIR/rank.N.err
    bool go_on;       // what these files have is of the same job: it stays
};

// Borrowed fds. A file is a pipe to whoever writes it (streams.h).
struct output_places {
    int out, err;
    bool out_is_file, err_is_file;
    int dir; // takes writer_frame()s for style->dir
};

struct output_ops {
    // `bytes` of a rank's stream (1 or 2) were passed on.
    void (*credit)(void *arg, uint32_t rank, unsigned stream, size_t bytes);
    // Nothing waits any more and all streams are at their end.
    void (*drained)(void *arg);
    // `name` ("stdout", a file) cannot be written: what comes for it is dropped from now on.
    void (*broken)(void *arg, const char *name, int errnum);
};

// Files that a run before left in the directory are emptied as this one writes them.
struct output *output_create(struct event_base *base, const struct output_places *to,
                             uint32_t ranks, const struct output_style *style,
                             const struct output_ops *ops, void *arg);
// So many ranks more, numbered on.
void output_add(struct output *o, uint32_t ranks);
// The ranks start again: all streams are new, and what waits from before pays nobody. Files
// go on where they are.
void output_again(struct output *o, uint32_t ranks);
void output_destroy(struct output *o);
void output_data(struct output *o, uint32_t rank, unsigned stream, const void *p,
                 size_t n);
// No more comes from this stream (repeats are allowed).
void output_eof(struct output *o, uint32_t rank, unsigned stream);
// Are all streams at their end (what came may still wait to be written)?
bool output_is_ended(const struct output *o);
bool output_is_drained(const struct output *o);
// Do bytes wait for whoever reads our stdout or stderr? They may take their time.
bool output_waits(const struct output *o);
// "stdout", "stderr" or the directory, when bytes wait for a file; NULL: none do.
const char *output_waits_for_file(const struct output *o);
// Bytes passed on so far.
uint64_t output_passed(const struct output *o);
// Who writes to our stderr beside us asks first: did a stream that ended without a newline
// leave it in the middle of a line? True: write one; the next question says no.
bool output_wants_newline(struct output *o);
// The last lines of a rank's stderr, at most `max`, each behind `indent`.
void output_last_words(const struct output *o, uint32_t rank, unsigned max,
                       const char *indent, struct buf *out);

#endif
