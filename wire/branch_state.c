// The table of a child.
#include "wire/branch_state.h"

#include <stddef.h>

static const struct {
    enum child_state from;
    enum child_event event;
    enum child_state to;
} table[] = {
    {CHILD_WAITING, CHILD_EV_DIAL, CHILD_DIALING},
    {CHILD_WAITING, CHILD_EV_GIVE_UP, CHILD_GONE},
    {CHILD_DIALING, CHILD_EV_UP, CHILD_ATTACHED},
    {CHILD_DIALING, CHILD_EV_FAIL, CHILD_WAITING},
    {CHILD_DIALING, CHILD_EV_GIVE_UP, CHILD_GONE},
    {CHILD_DIALING, CHILD_EV_REDIAL, CHILD_WAITING},
    {CHILD_DIALING, CHILD_EV_EXCHANGE, CHILD_WAITING},
    {CHILD_ATTACHED, CHILD_EV_LOSE, CHILD_GONE},
    {CHILD_ATTACHED, CHILD_EV_EXCHANGE, CHILD_WAITING},
    {CHILD_GONE, CHILD_EV_DIAL, CHILD_DIALING}, // over other fds
    {CHILD_GONE, CHILD_EV_REDIAL, CHILD_WAITING},
    {CHILD_GONE, CHILD_EV_EXCHANGE, CHILD_WAITING},
};

enum child_state child_state_next(enum child_state s, enum child_event ev)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == s && table[i].event == ev)
            return table[i].to;
    return s;
}

const char *child_state_name(enum child_state s)
{
    static const char *const names[CHILD_STATES] = {"waiting", "dialing", "attached",
                                                    "gone"};
    return names[s];
}

const char *child_event_name(enum child_event ev)
{
    static const char *const names[CHILD_EVENTS] = {
        "dial", "up", "fail", "give up", "lose", "redial", "exchange"};
    return names[ev];
}
