// A job's claim to the files of its pod: its states, as a table. Pure.
//
//   WAITING --granted--> OWNER          one claim at most is OWNER or AWAY
//   OWNER --lost--> AWAY                no beats while the launcher is out of reach
//   AWAY --back--> OWNER
//   AWAY --expired--> ABSENT            the lease has run out: others may own
//   WAITING --lost--> ABSENT            nobody to write for
//   ABSENT --back--> WAITING
//   any --ousted--> OUSTED              a newer hold of the same job is here: for good
// A session that ends takes its claim along, from any state.
#ifndef MUSTER_AGENT_HANDOFF_FSM_H
#define MUSTER_AGENT_HANDOFF_FSM_H

#include <stdbool.h>

enum handoff_state {
    HANDOFF_WAITING,
    HANDOFF_OWNER,
    HANDOFF_AWAY,
    HANDOFF_ABSENT,
    HANDOFF_OUSTED,
    HANDOFF_STATES,
};

enum handoff_event {
    HANDOFF_EV_GRANTED,
    HANDOFF_EV_LOST,
    HANDOFF_EV_BACK,
    HANDOFF_EV_EXPIRED,
    HANDOFF_EV_OUSTED,
    HANDOFF_EVENTS,
};

// The same state when the event means nothing there.
enum handoff_state handoff_fsm_next(enum handoff_state s, enum handoff_event ev);
bool handoff_fsm_owns(enum handoff_state s);
const char *handoff_state_name(enum handoff_state s);
const char *handoff_event_name(enum handoff_event ev);

#endif
