// The table of a session.
#include "agent/session_fsm.h"

#include <stddef.h>

static const struct {
    enum session_state from;
    enum session_event event;
    enum session_state to;
} table[] = {
    {SESSION_GREETED, SESSION_EV_ATTACH, SESSION_ATTACHED},
    {SESSION_GREETED, SESSION_EV_LOST, SESSION_ORPHANED},
    {SESSION_GREETED, SESSION_EV_CLOSED, SESSION_CLOSING},
    {SESSION_ATTACHED, SESSION_EV_LOST, SESSION_ORPHANED},
    {SESSION_ATTACHED, SESSION_EV_CLOSED, SESSION_CLOSING},
    {SESSION_ATTACHED, SESSION_EV_GIVE_WAY, SESSION_CLOSING},
    {SESSION_ORPHANED, SESSION_EV_GIVE_WAY, SESSION_CLOSING},
};

enum session_state session_fsm_next(enum session_state s, enum session_event ev)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == s && table[i].event == ev)
            return table[i].to;
    return s;
}

const char *session_state_name(enum session_state s)
{
    static const char *const names[SESSION_STATES] = {"greeted", "attached", "orphaned",
                                                      "closing"};
    return names[s];
}

const char *session_event_name(enum session_event ev)
{
    static const char *const names[SESSION_EVENTS] = {"attach", "lost", "closed",
                                                      "give way"};
    return names[ev];
}
