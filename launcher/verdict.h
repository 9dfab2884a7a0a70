// Why a job ended: the first cause, and the exit code that it means. Pure.
//
// Only the first cause counts; what follows from it (ranks killed by the stop, collectives
// that fail, links that close) is counted and not told.
#ifndef MUSTER_LAUNCHER_VERDICT_H
#define MUSTER_LAUNCHER_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum { VERDICT_OWN_FAILURE = 125, VERDICT_TIMEOUT = 124 };

struct verdict {
    bool failed;
    int code;   // exit code of muster
    char *text; // owned; NULL while nothing failed
};

// One rank as texts name it.
struct verdict_rank {
    uint32_t rank;
    uint32_t pid;
    const char *member, *address;
};

// Record a cause; false when there was one before (nothing changes).
bool verdict_set(struct verdict *v, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// What an exit says. Returns true when it is the first cause of a failure. A rank that
// ends with 0 without MPI_Finalize after it had called MPI_Init is a failure (code 1): its
// peers wait for it.
bool verdict_exit(struct verdict *v, const struct verdict_rank *r, int status,
                  bool connected, bool finalized);
bool verdict_abort(struct verdict *v, const struct verdict_rank *r, int status,
                   const char *text);
void verdict_free(struct verdict *v);

#endif
