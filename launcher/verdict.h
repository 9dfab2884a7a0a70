// Why a job ended: the first cause, and the exit code that it means. Pure.
//
// Only the first cause counts; what follows from it (ranks killed by the stop,
// collectives that fail, links that close) is counted and not told.
#ifndef MUSTER_LAUNCHER_VERDICT_H
#define MUSTER_LAUNCHER_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum { VERDICT_OWN_FAILURE = 125, VERDICT_TIMEOUT = 124 };

// A node that dies takes its ranks' peers along: their own errors can be heard before
// the loss is. So a stronger cause takes the place of a weaker one; whoever calls must
// not offer what is its own doing (ranks that it stops).
enum verdict_strength {
    VERDICT_ERROR,  // a rank ended with an exit code, aborted, or wrote to a peer that
                    // was gone (SIGPIPE)
    VERDICT_SIGNAL, // a rank was killed
    VERDICT_LOSS, // a member, an agent, a keeper or a PMIx server is gone; our own failure
    VERDICT_ORDER, // the user's signal, a bad request
};

struct verdict {
    bool failed;
    enum verdict_strength strength;
    int code;   // exit code of muster
    long rank;  // whose end it was, -1: nobody's
    char *text; // owned; NULL while nothing failed
};

// One rank as texts name it.
struct verdict_rank {
    uint32_t number; // in the attempt
    uint32_t world;  // 0: the first; else it was spawned
    uint32_t rank;
    uint32_t pid;
    const char *member, *address;
};

// "rank 4 on train-2 (10.0.0.5, pid 77)". Caller frees.
char *verdict_rank_text(const struct verdict_rank *r);
// Record a cause; false when an equal or stronger one was there before (nothing
// changes).
bool verdict_set(struct verdict *v, enum verdict_strength strength, int code,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));
// What an exit says. Returns true when it is the first cause of a failure. A rank that
// ends with 0 without MPI_Finalize after it had called MPI_Init is a failure (code 1):
// its peers wait for it.
bool verdict_exit(struct verdict *v, const struct verdict_rank *r, int status,
                  bool connected, bool finalized);
// The rank of the cause was killed by the kernel for want of memory: say so.
void verdict_out_of_memory(struct verdict *v, uint32_t rank, uint32_t kills);
bool verdict_abort(struct verdict *v, const struct verdict_rank *r, int status,
                   const char *text);
void verdict_free(struct verdict *v);

#endif
