// One rank's stdin: a pipe that is written as the rank reads, and told when it has.
#ifndef MUSTER_AGENT_RANK_IN_H
#define MUSTER_AGENT_RANK_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct event_base;
struct rank_in;

// So many more bytes are in the pipe, or dropped because the rank has closed its end.
typedef void (*rank_in_taken_fn)(void *arg, uint32_t bytes);

// *child_end gets the end for the rank, the caller's to close.
struct rank_in *rank_in_create(struct event_base *base, int *child_end,
                               rank_in_taken_fn taken, void *arg, struct err *err);
void rank_in_destroy(struct rank_in *in); // NULL-safe
// Copies; `eof` closes the pipe behind what was put.
void rank_in_put(struct rank_in *in, const void *data, size_t n, bool eof);

#endif
