// The ranks of one attempt in one pod: all of them are started or none is, and each is
// followed until its process and its output have ended.
#ifndef MUSTER_AGENT_KEEPER_RANKS_H
#define MUSTER_AGENT_KEEPER_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "wire/muster.pb-c.h"

struct event_base;
struct keeper_ranks;

// As rank_io_output_fn, for one rank of them.
typedef void (*keeper_ranks_output_fn)(void *arg, uint32_t rank, uint32_t stream,
                                       const uint8_t *data, size_t len, bool eof);

// A rank took so many bytes of its stdin.
typedef void (*keeper_ranks_taken_fn)(void *arg, uint32_t rank, uint32_t bytes);

struct keeper_ranks *keeper_ranks_create(struct event_base *base,
                                         keeper_ranks_output_fn output,
                                         keeper_ranks_taken_fn taken, void *arg);
void keeper_ranks_destroy(struct keeper_ranks *rs);

// Where the ranks' PMI sockets come from (rank_fds.h); taken over.
void keeper_ranks_pmi_from(struct keeper_ranks *rs, int sock);
// More of them. On failure (err->code 125, 126 or 127) some may run: the caller kills
// whatever is below it, then calls keeper_ranks_forget; or they count on as the others do.
int keeper_ranks_start(struct keeper_ranks *rs, const Muster__Spawn *spawn,
                       struct err *err);
// None of them counts any more; their output is lost.
void keeper_ranks_forget(struct keeper_ranks *rs);

size_t keeper_ranks_count(const struct keeper_ranks *rs);
// Number and pid of the i-th rank, in the order of SPAWN.
uint32_t keeper_ranks_number(const struct keeper_ranks *rs, size_t i);
pid_t keeper_ranks_pid(const struct keeper_ranks *rs, size_t i);

// A child was reaped: true, and its number, when it is one of the ranks.
bool keeper_ranks_exited(struct keeper_ranks *rs, pid_t pid, uint32_t *rank);
size_t keeper_ranks_running(const struct keeper_ranks *rs);
// Has the output of all ended?
bool keeper_ranks_drained(const struct keeper_ranks *rs);
// To the process group of each rank that runs.
void keeper_ranks_signal(struct keeper_ranks *rs, int number);
// Does anybody of the ranks' process groups run (who made one of its own does not count)?
bool keeper_ranks_grouped(const struct keeper_ranks *rs);
// See rank_io_input; rank KEEPER_RANKS_ALL: all that have an input.
#define KEEPER_RANKS_ALL 0xffffffffu
void keeper_ranks_input(struct keeper_ranks *rs, uint32_t rank, const void *data,
                        size_t n, bool eof);
// See rank_io_credit; an unknown rank is ignored.
void keeper_ranks_credit(struct keeper_ranks *rs, uint32_t rank, uint32_t stream,
                         uint32_t bytes);
// See rank_io_finish.
void keeper_ranks_finish(struct keeper_ranks *rs);

#endif
