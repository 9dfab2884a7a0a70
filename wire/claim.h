// Who commands a job: the launcher's side of it, as one state machine. Pure.
//
//   LOOKING --all records are in, or enough, claim_judge()--> ASKING --granted--> REIGNS
//      |                                                       |
//      +--> OVER (the job is done)                             +--denied, the term is a
//      +--> SHORT <--> (claim_judge() again)                       rival's--> LOOKING
//   REIGNS --outbid, claim_again()--> ASKING
//   any --a higher term than the own is met--> DEPOSED, and nothing is claimed ever again
//   LOOKING, SHORT, REIGNS --another term is wanted, and none is left--> SPENT, likewise
//
// A launcher claims max(term seen) + 1. A new job wants all of its members. One that goes on
// wants those that are here, and these have to hold a strict majority of the positions of each
// attempt that may still run somewhere: of all that agents tell of. A position is held by the
// member whose agent sat there, or that has the name: a name has one pod, so the agent before
// has ended. Why no two attempts of one job run at once: an agent grants a higher term only,
// and when it does none of its ranks of lower terms is left; and no attempt gets GO before at
// least half of these positions have it in their records, so that every later majority
// finds one that tells of it.
// Two that claim the same term split the members; each takes another term after a pause, and
// who is second meets a higher one. A member that was not here when the term was chosen may
// have granted as much to a launcher that came no further: by its word nobody is deposed, the
// claim is outbid and made again. (agent/record.h is the other side.)
#ifndef MUSTER_WIRE_CLAIM_H
#define MUSTER_WIRE_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "wire/claim_seats.h"
#include "wire/muster.pb-c.h"

struct claim;

enum { CLAIM_KEY_MAX = 128 };
// A job's last term: the one above it is nobody's (agent/record.h).
#define CLAIM_TERM_MAX (UINT32_MAX - 1)
// The job's key for a launcher that `musterd --lead` starts.
#define CLAIM_LEAD_ENV "MUSTER_LEAD_JOB"
// Which --rerun it is, for the same: one launcher after the other gets one order, that counts once.
#define CLAIM_ORDER_ENV "MUSTER_LEAD_ORDER"

enum claim_state {
    CLAIM_LOOKING, // records are read
    CLAIM_SHORT,   // of a majority
    CLAIM_ASKING,  // claim_term() was claimed, of those that are here
    CLAIM_REIGNS,
    CLAIM_OVER,    // claim_last() says how the job ended
    CLAIM_DEPOSED, // claim_rival() says by whom
    CLAIM_SPENT,   // an agent knows CLAIM_TERM_MAX, or says so
    CLAIM_STATES,
};
const char *claim_state_name(enum claim_state s);

struct claim_conf {
    uint32_t members;
    uint8_t launcher[CLAIM_LAUNCHER_BYTES]; // own incarnation
    char *const *argv; // of the ranks; borrowed, outlives the claim
    size_t argc;
    bool rerun;        // the job begins anew, whatever was
    const char *order; // of the rerun: what it has begun goes on. Borrowed; NULL: none
    bool adopt; // without a majority, too: who says so knows that nobody else commands
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
enum claim_state claim_lost(struct claim *c, uint32_t member);
// What is remembered there has this launcher's attempt: READY, or a RECORD that says so.
void claim_acked(struct claim *c, uint32_t member, uint32_t attempt);

// ---- what the launcher does -----------------------------------------------------------

// In LOOKING and SHORT, with the names of all members (by index): goes on as soon as all
// records are in; with `late`, as nobody else may come soon, also with those that are, if the
// job is not a new one. ASKING: claim_term() has to go to all that are here. SPENT: the term
// stays as it was.
enum claim_state claim_judge(struct claim *c, const struct claim_member *members,
                             bool late);
// REIGNS, but a member that came later has granted as high a term to another launcher, and
// cannot be had with the own one.
bool claim_outbid(const struct claim *c);
// Only while no rank of this launcher runs: a higher term has to be asked of all that are here.
enum claim_state claim_again(struct claim *c);
// Does it wait for members that may be well, while who could reach them is not? In SHORT, in
// ASKING where the job goes on, and in LOOKING when they have had their time (`late`) and nobody
// who is here tells of an attempt. They may be dialed from elsewhere: a session of the same
// launcher that is begun anew looks, or claims the same term, as the one before did.
bool claim_lacks(const struct claim *c, bool late);
// But not this one, which is here: it has told what it knows, or has not ended its ranks yet.
bool claim_pins(const struct claim *c, uint32_t member);
// From where the job goes on, or how it ended; NULL: it is a new one. Once it is judged.
const Muster__Record *claim_last(const struct claim *c);
// The latest record that has come so far, judged or not; NULL: nobody tells of an attempt.
const Muster__Record *claim_best(const struct claim *c);
// Is it that of a job which goes on, or is over, and not of one to begin anew?
bool claim_is_known(const struct claim *c);
// Once it is judged: there is no job to go on with, or it is not to.
bool claim_begins_anew(const struct claim *c);

// An attempt with that number is prepared; `seats` are the members of its positions.
void claim_prepared(struct claim *c, uint32_t attempt, const uint32_t *seats,
                    uint32_t n);
// Can at least half of the positions of each attempt that may still run be told of the next
// one? Are they?
bool claim_can_go(const struct claim *c);
bool claim_may_go(const struct claim *c);
// The attempt that was prepared last got GO: those before cannot run any more.
void claim_gone(struct claim *c);

// ---- for texts ------------------------------------------------------------------------

// Positions of the attempt that is short of a majority, or of the last one; and those of them
// that are held.
uint32_t claim_seats(const struct claim *c);
uint32_t claim_seats_held(const struct claim *c);
// The i-th of those that are not, and the member that would hold it (UINT32_MAX: none would);
// NULL: there are no more.
const Muster__RecordSeat *claim_missing(const struct claim *c, uint32_t i,
                                        uint32_t *member);
// "train-2 (10.0.0.5), train-3 (10.0.0.6)": at most max of them, then a count.
void claim_name_missing(const struct claim *c, unsigned max, struct buf *out);
// Is there a grant, a record of the member? While they are awaited.
bool claim_answered(const struct claim *c, uint32_t member);
// The record of who deposed this launcher.
const Muster__Record *claim_rival(const struct claim *c);

#endif
