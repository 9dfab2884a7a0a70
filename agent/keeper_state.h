// State tables of the keeper and of a rank: pure, one transition function each.
#ifndef MUSTER_AGENT_KEEPER_STATE_H
#define MUSTER_AGENT_KEEPER_STATE_H

enum keeper_state {
    KEEPER_WARM,     // no SPAWN yet; the PMIx server may be up
    KEEPER_RUNNING,  // ranks were started; further ones may be
    KEEPER_CLEARING, // a rank could not be started: SIGKILL for those that were
    KEEPER_SPENT,    // FAILED was sent, nothing runs; another SPAWN is not taken
    KEEPER_ASKING,   // the pre-stop signal was sent, its time runs
    KEEPER_ENDING,   // SIGTERM was sent, the grace runs
    KEEPER_KILLING,  // SIGKILL is sent until nobody is left, bounded
    KEEPER_DRAINING, // nobody is left: what the pipes still hold is passed on, bounded
    KEEPER_STOPPED,  // STOPPED was sent; the agent has to close fd 3
    KEEPER_ORPHANED, // fd 3 is closed: SIGKILL for everybody, bounded
    KEEPER_OVER,     // the program ends
    KEEPER_STATES,
};

enum keeper_event {
    KEEPER_SPAWNED,
    KEEPER_SPAWN_FAILED,
    KEEPER_ASK,        // STOP with a pre-stop signal
    KEEPER_STOP,       // with a grace
    KEEPER_STOP_NOW,   // without
    KEEPER_ANSWERED,   // all ranks that were asked have ended
    KEEPER_GRACE_OVER, // of the state: the pre-stop's, or SIGTERM's
    KEEPER_EMPTY,      // nobody is left below the keeper (but the PMIx server)
    KEEPER_GIVE_UP,    // somebody outlived SIGKILL for too long
    KEEPER_DRAINED,    // all output was passed on, or the time for it is over
    KEEPER_AGENT_GONE,
    KEEPER_EVENTS,
};

// The state after `event`; the same one where the event changes nothing.
enum keeper_state keeper_state_next(enum keeper_state state, enum keeper_event event);
const char *keeper_state_name(enum keeper_state state);
const char *keeper_event_name(enum keeper_event event);

// A rank ends twice: its process and its output (a grandchild can hold the pipe
// longer).
enum rank_state {
    RANK_RUNNING,
    RANK_SILENT, // both streams ended, the process runs
    RANK_EXITED, // the process was reaped, output may still come
    RANK_DONE,
    RANK_STATES,
};

enum rank_event {
    RANK_EXIT,
    RANK_OUTPUT_END,
    RANK_EVENTS,
};

enum rank_state rank_state_next(enum rank_state state, enum rank_event event);

#endif
