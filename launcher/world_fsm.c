// The table of a world.
#include "launcher/world_fsm.h"

#include <stddef.h>

static const struct {
    enum world_state from;
    enum world_event event;
    enum world_state to;
} table[] = {
    {WORLD_PREPARING, WORLD_EV_READY, WORLD_STARTING},
    {WORLD_PREPARING, WORLD_EV_FAILED, WORLD_FAILED},
    {WORLD_STARTING, WORLD_EV_STARTED, WORLD_RUNNING},
};

bool world_fsm_next(enum world_state *state, enum world_event ev)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == *state && table[i].event == ev) {
            *state = table[i].to;
            return true;
        }
    return false;
}

const char *world_state_name(enum world_state s)
{
    static const char *const names[WORLD_STATES] = {"preparing", "starting", "running",
                                                    "failed"};
    return names[s];
}

const char *world_event_name(enum world_event ev)
{
    static const char *const names[WORLD_EVENTS] = {"ready", "started", "failed"};
    return names[ev];
}
