// The states of a branch's child as a table: pure, without any network.
#ifndef MUSTER_WIRE_BRANCH_STATE_H
#define MUSTER_WIRE_BRANCH_STATE_H

enum child_state {
    CHILD_WAITING, // for its turn, for the next try, or to be adopted
    CHILD_DIALING, // a link is on its way up
    CHILD_ATTACHED,
    CHILD_GONE, // lost, or given up
    CHILD_STATES,
};

enum child_event {
    CHILD_EV_DIAL, // a try begins
    CHILD_EV_UP,   // it greeted
    CHILD_EV_FAIL, // the try failed, and another one follows
    CHILD_EV_GIVE_UP,
    CHILD_EV_LOSE,     // the link that was up is down
    CHILD_EV_REDIAL,   // its owner wants it anew
    CHILD_EV_EXCHANGE, // another member is the child now
    CHILD_EVENTS,
};

// The state after `ev`; the same where it changes nothing.
enum child_state child_state_next(enum child_state s, enum child_event ev);
const char *child_state_name(enum child_state s);
const char *child_event_name(enum child_event ev);

#endif
