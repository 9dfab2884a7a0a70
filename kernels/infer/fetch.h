// The decode role's leader: has prompts computed by the prefill role, and their keys and values
// pulled by all ranks.
//
//   ASKING --ready--> PULLING --by all ranks--> there
//     |  ^               +--an error--> computed here, as all are that become ready in FETCH_REST_MS
//     |  |
//     |  +-- AGAIN   (after FETCH_AGAIN_MS, wherever the prefill role is by then)
//     +--error--^  --FETCH_MS after the first try--> computed here after all
//   and from each of them --nobody waits for the text any more--> given up
//
// Steps go on meanwhile; a prompt that waits for sources that fail does not: for a while they are
// not tried for each. An ask is a connection of its own, which holds the positions until they are
// there. Whoever is replaced, on either side, is asked, or asks, anew: nothing is remembered from
// one connection to the next.
#ifndef MUSTER_KERNELS_INFER_FETCH_H
#define MUSTER_KERNELS_INFER_FETCH_H

#include "kernels/infer/engine.h"
#include "kernels/infer/sched.h"

struct event_base;
struct fetch;
struct log;

enum { FETCH_MS = 10000, FETCH_AGAIN_MS = 250, FETCH_REST_MS = 15000 };
// Other ranks tell how a pull ended by a message, which is no event.
enum { FETCH_POLL_MS = 1 };

struct fetch_opts {
    const char *prefill;   // ADDRESS:PORT of its leader; NULL: role_file says it
    const char *role_file; // $MUSTER_ROLE_FILE, read anew at each try
    const char *model;     // KVWIRE_MODEL digits
};

// Borrows all.
struct fetch *fetch_create(struct event_base *base, struct engine *engine,
                           struct sched *sched, const struct fetch_opts *opts,
                           struct log *log);
void fetch_destroy(struct fetch *f); // NULL-safe
// Begins what the scheduler wants to have fetched, and ends what has come.
void fetch_look(struct fetch *f);

#endif
