// A roll's way from the agent to the files of its pod: /etc/hosts and hostfiles.
//
// They are written by the pod's sidecar, which reads the run directory (roll_json.h has
// the files), or by the agent itself (musterd --hosts, --write: a keep). One job owns
// them at a time, by a claim (handoff_fsm.h); the rolls of others wait. What comes of it
// when
//   the job ends            roll.json goes: the sidecar returns to its own source at once
//   the connection is lost  no more beats; back within the lease: nothing has happened
//   the lease runs out      roll.json goes, the next claim that waits owns
//   the agent is killed     no beats: the sidecar sees the lease run out; the locks go at
//                           once, so that a new agent can take them
//   the agent is frozen     the same; thawed, it beats as long as its session lives
//   its launcher comes anew (same job, no older roll): it owns at once, the files go on
//   a second job comes      it is told that the files are another's, and waits for them
//   a second agent is here  (musterd --stdio beside a resident one): the lock on
//                           roll.json decides, and is asked for again each beat
//   the directory is not there, or nobody keeps files: nothing is written or waited for
#ifndef MUSTER_AGENT_HANDOFF_H
#define MUSTER_AGENT_HANDOFF_H

#include <stdint.h>

#include "common/err.h"
#include "wire/frame.h"

struct event_base;
struct handoff;
struct handoff_claim;
struct handoff_wait;
struct keep;
struct log;

// How long an attempt waits for the files.
enum { HANDOFF_WAIT_MS = 10000 };

struct handoff_conf {
    struct event_base *base;
    struct log *log;
    const char *dir;   // borrowed; the run directory; NULL: none
    struct keep *keep; // borrowed; NULL: the agent keeps no files itself
    uint32_t beat_ms;  // 0: ROLL_BEAT_MS
    uint32_t lease_ms; // 0: ROLL_LEASE_MS
};

struct handoff *handoff_create(const struct handoff_conf *conf);
void handoff_destroy(struct handoff *h); // NULL-safe; after all claims

// ---- for sessions -------------------------------------------------------------

struct handoff_claim *handoff_claim_create(struct handoff *h);
// The session is over. NULL-safe.
void handoff_claim_destroy(struct handoff_claim *c);
// A ROLL frame: older ones of the same term are dropped, as are those that make no sense.
void handoff_roll(struct handoff_claim *c, const struct frame *f);
// The connection to the launcher is lost; it is back. NULL-safe.
void handoff_lost(struct handoff_claim *c);
void handoff_back(struct handoff_claim *c);

// ---- for attempts -------------------------------------------------------------

// The newest roll of the claim is in the files (failure NULL), or cannot be: why. note:
// what the user should know all the same, NULL: nothing. The wait is over with the call,
// which comes from the loop.
typedef void handoff_fn(void *arg, const struct err *failure, const char *note);
// Bounded by HANDOFF_WAIT_MS. claim NULL: there is no roll, so nothing to wait for.
struct handoff_wait *handoff_wait(struct handoff *h, struct handoff_claim *claim,
                                  handoff_fn *fn, void *arg);
void handoff_cancel(struct handoff_wait *w); // NULL-safe

#endif
