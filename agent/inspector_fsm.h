// The states of an inspector as a table. Pure.
//
//   WAITING --order--> RUNNING --ended, late--> CLEARING --next--> RUNNING (the next check)
//                                               CLEARING --last, stuck--> OVER
//   WAITING --orphaned--> OVER; RUNNING, CLEARING --orphaned--> ORPHANED --last, stuck--> OVER
#ifndef MUSTER_AGENT_INSPECTOR_FSM_H
#define MUSTER_AGENT_INSPECTOR_FSM_H

enum inspector_state {
    INSPECTOR_WAITING,  // no INSPECT came yet
    INSPECTOR_RUNNING,  // a check runs
    INSPECTOR_CLEARING, // it has ended or is late: whoever is left of it is killed
    INSPECTOR_ORPHANED, // the agent wants nothing any more: the same
    INSPECTOR_OVER,
    INSPECTOR_STATES,
};

enum inspector_event {
    INSPECTOR_EV_ORDER,
    INSPECTOR_EV_ENDED, // the check's own process
    INSPECTOR_EV_LATE,
    INSPECTOR_EV_NEXT,  // nobody is left, and a further check follows
    INSPECTOR_EV_LAST,  // nobody is left, and none follows
    INSPECTOR_EV_STUCK, // somebody outlives SIGKILL
    INSPECTOR_EV_ORPHANED,
    INSPECTOR_EVENTS,
};

// The state after `ev`; the same where it changes nothing.
enum inspector_state inspector_fsm_next(enum inspector_state s,
                                        enum inspector_event ev);
const char *inspector_state_name(enum inspector_state s);
const char *inspector_event_name(enum inspector_event ev);

#endif
