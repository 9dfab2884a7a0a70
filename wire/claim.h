// Who commands a job: the launcher's side of it, as one state machine. Pure.
//
//   LOOKING --all records are in, claim_judge()--> ASKING --all have granted--> REIGNS
//      |                                             |
//      +--> OVER (the job is done)                   +--denied, the term is a rival's--> LOOKING
//      +--> SHORT <--> (claim_judge() again)
//   any --a higher term than the own is met--> DEPOSED, and nothing is claimed ever again
//
// A launcher claims max(term seen) + 1. Its attempt needs grants from all of its members, and
// these have to be a strict majority of the positions of each attempt of which an agent tells.
// A position counts when its agent grants, or the agent of the member of that name: a name has
// one pod, so the agent before has ended. Why no two attempts of one job run at once: an agent
// grants a higher term only, and when it does none of its ranks of lower terms is left.
// Two that claim the same term split the members; each takes another term after a pause, and
// who is second meets a higher one. (agent/record.h is the other side.)
#ifndef MUSTER_WIRE_CLAIM_H
#define MUSTER_WIRE_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "wire/muster.pb-c.h"

struct claim;

enum { CLAIM_LAUNCHER_BYTES = 16, CLAIM_KEY_MAX = 128 };
// The job's key for a launcher that `musterd --lead` starts.
#define CLAIM_LEAD_ENV "MUSTER_LEAD_JOB"

enum claim_state {
    CLAIM_LOOKING, // records are read
    CLAIM_SHORT,   // of a majority
    CLAIM_ASKING,  // claim_term() was claimed
    CLAIM_REIGNS,
    CLAIM_OVER,    // claim_last() says how the job ended
    CLAIM_DEPOSED, // claim_rival() says by whom
    CLAIM_STATES,
};
const char *claim_state_name(enum claim_state s);

struct claim_conf {
    uint32_t members;
    uint8_t launcher[CLAIM_LAUNCHER_BYTES]; // own incarnation
    char *const *argv; // of the ranks; borrowed, outlives the claim
    size_t argc;
    bool rerun; // the job begins anew, whatever was
    bool adopt; // without a majority, too: who says so knows that nobody else commands
};

// What a member's agent is called.
struct claim_member {
    const char *name;
    const uint8_t *incarnation; // RecordSeat's
};

struct claim *claim_create(const struct claim_conf *conf);
void claim_destroy(struct claim *c); // NULL-safe
enum claim_state claim_state(const struct claim *c);
uint32_t claim_term(const struct claim *c); // own; 0: nothing was claimed so far

// ---- what agents say. Returns the state after it -------------------------------------

enum claim_state claim_record(struct claim *c, uint32_t member,
                              const Muster__Record *m);
enum claim_state claim_granted(struct claim *c, uint32_t member, uint32_t term);
// In every state: a rival has the agent.
enum claim_state claim_denied(struct claim *c, uint32_t member,
                              const Muster__Record *m);
// The member is out of reach. When it is back it is asked anew.
void claim_lost(struct claim *c, uint32_t member);

// ---- what the launcher does -----------------------------------------------------------

// In LOOKING and SHORT, with all members there (by index): goes on as soon as all records
// are in. ASKING: claim_term() has to go to all of them.
enum claim_state claim_judge(struct claim *c, const struct claim_member *members);
// From where the job goes on, or how it ended; NULL: it is a new one. Once it is judged.
const Muster__Record *claim_last(const struct claim *c);
// Positions that the last attempt had (SHORT: that without a majority), and those of them
// that count (above).
uint32_t claim_seats(const struct claim *c);
uint32_t claim_seats_held(const struct claim *c);
// "train-2 (10.0.0.5), train-3 (10.0.0.6)": those that do not; at most max, then a count.
void claim_name_missing(const struct claim *c, unsigned max, struct buf *out);
// Is there a grant, a record of the member? While they are awaited.
bool claim_answered(const struct claim *c, uint32_t member);
// The record of who deposed this launcher.
const Muster__Record *claim_rival(const struct claim *c);

#endif
