// The table of claims.
#include "agent/handoff_fsm.h"

#include <stddef.h>

static const struct {
    enum handoff_state from;
    enum handoff_event event;
    enum handoff_state to;
} table[] = {
    {HANDOFF_WAITING, HANDOFF_EV_GRANTED, HANDOFF_OWNER},
    {HANDOFF_WAITING, HANDOFF_EV_LOST, HANDOFF_ABSENT},
    {HANDOFF_OWNER, HANDOFF_EV_LOST, HANDOFF_AWAY},
    {HANDOFF_AWAY, HANDOFF_EV_BACK, HANDOFF_OWNER},
    {HANDOFF_AWAY, HANDOFF_EV_EXPIRED, HANDOFF_ABSENT},
    {HANDOFF_ABSENT, HANDOFF_EV_BACK, HANDOFF_WAITING},
};

enum handoff_state handoff_fsm_next(enum handoff_state s, enum handoff_event ev)
{
    if (ev == HANDOFF_EV_OUSTED)
        return HANDOFF_OUSTED;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == s && table[i].event == ev)
            return table[i].to;
    return s;
}

bool handoff_fsm_owns(enum handoff_state s)
{
    return s == HANDOFF_OWNER || s == HANDOFF_AWAY;
}

const char *handoff_state_name(enum handoff_state s)
{
    static const char *const names[HANDOFF_STATES] = {"waiting", "owner", "away",
                                                      "absent", "ousted"};
    return names[s];
}

const char *handoff_event_name(enum handoff_event ev)
{
    static const char *const names[HANDOFF_EVENTS] = {"granted", "lost", "back",
                                                      "expired", "ousted"};
    return names[ev];
}
