// The states of an attempt in the agent, as a table. Pure.
#ifndef MUSTER_AGENT_ATTEMPT_FSM_H
#define MUSTER_AGENT_ATTEMPT_FSM_H

enum attempt_state {
    ATTEMPT_PREPARING, // program resolved, keeper started, muster-pmixd registers
    ATTEMPT_READY,     // READY was sent
    ATTEMPT_STARTING,  // SPAWN was sent to the keeper
    ATTEMPT_RUNNING,
    ATTEMPT_FAILED,   // FAILED was sent; STOP has to come
    ATTEMPT_STOPPING, // STOP was sent to the keeper
    ATTEMPT_STOPPED,  // STOPPED was sent
    ATTEMPT_STATES,
};

enum attempt_event {
    ATTEMPT_EV_PREPARED,
    ATTEMPT_EV_FAILED, // cannot prepare or start, or not in time
    ATTEMPT_EV_GO,
    ATTEMPT_EV_STARTED,
    ATTEMPT_EV_STOP,        // told to, or abandoned
    ATTEMPT_EV_STOPPED,     // the keeper's proof
    ATTEMPT_EV_KEEPER_GONE, // killed, or crashed
    ATTEMPT_EVENTS,
};

// The state after `ev`; the same when the event means nothing there.
enum attempt_state attempt_fsm_next(enum attempt_state s, enum attempt_event ev);
const char *attempt_state_name(enum attempt_state s);
const char *attempt_event_name(enum attempt_event ev);

#endif
