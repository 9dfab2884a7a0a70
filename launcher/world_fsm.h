// The states of a spawned world as a table. Pure.
#ifndef MUSTER_LAUNCHER_WORLD_FSM_H
#define MUSTER_LAUNCHER_WORLD_FSM_H

#include <stdbool.h>

enum world_state {
    WORLD_PREPARING,
    WORLD_STARTING, // GO was sent
    WORLD_RUNNING,  // SPAWN_DONE was sent
    WORLD_FAILED,   // the same, with an error
    WORLD_STATES,
};

enum world_event {
    WORLD_EV_READY,   // on all members
    WORLD_EV_STARTED, // all its ranks
    WORLD_EV_FAILED,  // it cannot be prepared; what fails later ends the attempt
    WORLD_EVENTS,
};

// The state after `ev` in *state. False, and *state stays, where it changes nothing.
bool world_fsm_next(enum world_state *state, enum world_event ev);
const char *world_state_name(enum world_state s);
const char *world_event_name(enum world_event ev);

#endif
