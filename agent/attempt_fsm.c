// The attempt's state table.
#include "agent/attempt_fsm.h"

#include <stddef.h>

static const struct {
    enum attempt_state from;
    enum attempt_event event;
    enum attempt_state to;
} table[] = {
    {ATTEMPT_PREPARING, ATTEMPT_EV_PREPARED, ATTEMPT_READY},
    {ATTEMPT_PREPARING, ATTEMPT_EV_FAILED, ATTEMPT_FAILED},
    {ATTEMPT_PREPARING, ATTEMPT_EV_STOP, ATTEMPT_STOPPING},
    {ATTEMPT_PREPARING, ATTEMPT_EV_KEEPER_GONE, ATTEMPT_STOPPED},
    {ATTEMPT_READY, ATTEMPT_EV_GO, ATTEMPT_STARTING},
    {ATTEMPT_READY, ATTEMPT_EV_FAILED, ATTEMPT_FAILED},
    {ATTEMPT_READY, ATTEMPT_EV_STOP, ATTEMPT_STOPPING},
    {ATTEMPT_READY, ATTEMPT_EV_KEEPER_GONE, ATTEMPT_STOPPED},
    {ATTEMPT_STARTING, ATTEMPT_EV_STARTED, ATTEMPT_RUNNING},
    {ATTEMPT_STARTING, ATTEMPT_EV_FAILED, ATTEMPT_FAILED},
    {ATTEMPT_STARTING, ATTEMPT_EV_STOP, ATTEMPT_STOPPING},
    {ATTEMPT_STARTING, ATTEMPT_EV_KEEPER_GONE, ATTEMPT_STOPPED},
    {ATTEMPT_RUNNING, ATTEMPT_EV_STOP, ATTEMPT_STOPPING},
    {ATTEMPT_RUNNING, ATTEMPT_EV_KEEPER_GONE, ATTEMPT_STOPPED},
    {ATTEMPT_FAILED, ATTEMPT_EV_STOP, ATTEMPT_STOPPING},
    {ATTEMPT_FAILED, ATTEMPT_EV_KEEPER_GONE, ATTEMPT_STOPPED},
    {ATTEMPT_STOPPING, ATTEMPT_EV_STOPPED, ATTEMPT_STOPPED},
    {ATTEMPT_STOPPING, ATTEMPT_EV_KEEPER_GONE, ATTEMPT_STOPPED},
};

enum attempt_state attempt_fsm_next(enum attempt_state s, enum attempt_event ev)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == s && table[i].event == ev)
            return table[i].to;
    return s;
}

const char *attempt_state_name(enum attempt_state s)
{
    static const char *const names[ATTEMPT_STATES] = {
        "preparing", "ready", "starting", "running", "failed", "stopping", "stopped"};
    return names[s];
}

const char *attempt_event_name(enum attempt_event ev)
{
    static const char *const names[ATTEMPT_EVENTS] = {
        "prepared", "failed", "go", "started", "stop", "stopped", "keeper gone"};
    return names[ev];
}
