// One attempt on this pod: its keeper, its PMIx server and its part of the collectives.
//
// States (attempt_fsm.h): PREPARING -> READY -> STARTING -> RUNNING -> STOPPING ->
// STOPPED;
// FAILED when it cannot be prepared or started. STOP is answered in every state.
// STOPPED is reported once; the keeper lives on until the session lets the attempt go,
// so that output that waits for credit is not lost.
#ifndef MUSTER_AGENT_ATTEMPT_H
#define MUSTER_AGENT_ATTEMPT_H

#include "agent/session.h"

struct attempt;

// Starts preparing; READY or FAILED goes up later. A vertex without a position only
// merges its subtree's collectives. Takes over `prepare` in any case. NULL with err
// when that makes no sense: it comes from the network.
struct attempt *attempt_create(struct session *s, const struct frame *f,
                               Muster__Prepare *prepare, struct err *err);
// Kills what is left. NULL-safe.
void attempt_destroy(struct attempt *at);
// A further world, spawned by ranks of this attempt. Takes over `prepare`; READY or FAILED
// goes up later.
void attempt_add_world(struct attempt *at, Muster__Prepare *prepare);
uint32_t attempt_number(const struct attempt *at);
// Does this pod host ranks of any world? If not, it only relays for its subtree.
bool attempt_hosts(const struct attempt *at);
// A frame from above for this attempt, or from below (collectives).
void attempt_frame(struct attempt *at, const struct frame *f);
void attempt_from_child(struct attempt *at, const struct frame *f);
// Stop by ourselves. Afterwards session_attempt_over() comes.
enum attempt_end {
    ATTEMPT_KILL,     // SIGKILL at once
    ATTEMPT_ORPHAN,   // SIGTERM, and a short grace (graces.h)
    ATTEMPT_IN_ORDER, // as the launcher would: pre-stop signal, SIGTERM, grace
};
void attempt_abandon(struct attempt *at, enum attempt_end how, const char *why);

#endif
