// The launcher's stdin, for one rank or all of them.
//
// It is read only as far ahead as INPUT_WINDOW of the slowest rank that still takes it: a
// rank that does not read stops nobody but the reader of stdin. In the background of a
// terminal nothing is read (and nobody is stopped for it) until the launcher is in front.
// States: READING <-> FULL (window used up) or BEHIND (background), then ENDED.
#ifndef MUSTER_LAUNCHER_INPUT_H
#define MUSTER_LAUNCHER_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct input;

enum { INPUT_WINDOW = 256 << 10 };
#define INPUT_NOBODY 0u
#define INPUT_ALL    0xffffffffu // else: rank + 1

// Send this piece to the rank, or to all.
typedef void (*input_send_fn)(void *arg, const void *data, size_t n, bool eof);

// `who`: as Prepare.input; `ranks`: of the first world. Reads from the loop.
struct input *input_create(struct event_base *base, int fd, uint32_t who,
                           uint32_t ranks, input_send_fn send, void *arg);
void input_destroy(struct input *in); // NULL-safe
// A rank took so many bytes; a rank is gone (it takes no more).
void input_taken(struct input *in, uint32_t rank, uint32_t bytes);
void input_rank_gone(struct input *in, uint32_t rank);

#endif
