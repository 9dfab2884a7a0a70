// Whom an inspection is due for, and what is known of each member. Pure.
//
// States of a member:
//   UNKNOWN --asked--> ASKED --passed--> FIT      --prepared--> UNKNOWN
//      ^                 | \--failed--> UNFIT
//      +------lost-------+       FIT, UNFIT, ASKED --renewed--> UNKNOWN
//   UNKNOWN, FIT --failed--> UNFIT: with its partners (job_pairs.c)
// FIT holds until the attempt that it was found for is prepared. UNFIT holds for that agent: only
// another one (renewed: the container or the pod was made anew) is asked again. Who is lost while it
// is asked is asked again when it is back.
#ifndef MUSTER_LAUNCHER_INSPECTION_H
#define MUSTER_LAUNCHER_INSPECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

// --check, a set of:
enum inspection_when {
    INSPECTION_BEFORE =
        1, // all members, before the first attempt; spares that come later, too
    INSPECTION_ON_FAILURE = 2,  // all members, before each further one
    INSPECTION_REPLACEMENT = 4, // agents that the last attempt did not have
};

enum inspection_state {
    INSPECTION_UNKNOWN,
    INSPECTION_ASKED, // a VERDICT is due
    INSPECTION_FIT,
    INSPECTION_UNFIT,
    INSPECTION_STATES,
};

enum inspection_event {
    INSPECTION_EV_ASKED,
    INSPECTION_EV_PASSED, // or could not be found out
    INSPECTION_EV_FAILED,
    INSPECTION_EV_LOST,
    INSPECTION_EV_RENEWED,
    INSPECTION_EV_PREPARED,
    INSPECTION_EVENTS,
};

// The state after `ev`; the same where it changes nothing.
enum inspection_state inspection_next(enum inspection_state s,
                                      enum inspection_event ev);
const char *inspection_state_name(enum inspection_state s); // "unknown", ...
const char *inspection_event_name(enum inspection_event ev);

struct inspection_member {
    enum inspection_state state;
    bool there;   // attached, and not about to leave
    bool seen;    // it was inspected once, or had ranks, be it another agent
    bool renewed; // its agent is not the one that it had in the last attempt
};
// first: no attempt of the job was prepared yet.
bool inspection_is_due(unsigned when, bool first, const struct inspection_member *m);

// "before,replacement" into a set.
int inspection_parse(const char *text, unsigned *when, struct err *err);

#endif
