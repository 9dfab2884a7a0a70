// The states of a session as a table. Pure.
#ifndef MUSTER_AGENT_SESSION_FSM_H
#define MUSTER_AGENT_SESSION_FSM_H

enum session_state {
    SESSION_GREETED,  // the link is up, no ATTACH yet
    SESSION_ATTACHED, // the vertex is known
    SESSION_ORPHANED, // the link was lost for good: ranks live on for a while
    SESSION_CLOSING,  // ranks are killed
    SESSION_STATES,
};

enum session_event {
    SESSION_EV_ATTACH,
    SESSION_EV_LOST,     // the link ended without a word
    SESSION_EV_CLOSED,   // the link was closed in order, or was the agent's only one
    SESSION_EV_GIVE_WAY, // the job took hold anew
    SESSION_EVENTS,
};

// The state after `ev`; the same where it changes nothing.
enum session_state session_fsm_next(enum session_state s, enum session_event ev);
const char *session_state_name(enum session_state s);
const char *session_event_name(enum session_event ev);

#endif
