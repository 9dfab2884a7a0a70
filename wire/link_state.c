// The states of a link.
#include "wire/link_state.h"

#include <stddef.h>

static const struct {
    enum link_event event;
    enum link_state from, to;
} transitions[] = {
    {LINK_EV_CONNECTED, LINK_DIALING, LINK_OPENING},
    {LINK_EV_OPENED, LINK_OPENING, LINK_GREETING},
    {LINK_EV_GREETED, LINK_GREETING, LINK_UP},
    {LINK_EV_BREAK, LINK_UP, LINK_BROKEN},
    {LINK_EV_BREAK, LINK_CLOSING, LINK_BROKEN},
    {LINK_EV_RESUME, LINK_BROKEN, LINK_UP},
    {LINK_EV_CLOSE, LINK_GREETING, LINK_CLOSING},
    {LINK_EV_CLOSE, LINK_UP, LINK_CLOSING},
    {LINK_EV_END, LINK_DIALING, LINK_DOWN},
    {LINK_EV_END, LINK_OPENING, LINK_DOWN},
    {LINK_EV_END, LINK_GREETING, LINK_DOWN},
    {LINK_EV_END, LINK_UP, LINK_DOWN},
    {LINK_EV_END, LINK_BROKEN, LINK_DOWN},
    {LINK_EV_END, LINK_CLOSING, LINK_DOWN},
};

bool link_state_next(enum link_state *state, enum link_event ev)
{
    for (size_t i = 0; i < sizeof transitions / sizeof *transitions; i++)
        if (transitions[i].event == ev && transitions[i].from == *state) {
            *state = transitions[i].to;
            return true;
        }
    return false;
}

const char *link_state_name(enum link_state s)
{
    static const char *const names[] = {
        [LINK_DIALING] = "DIALING",   [LINK_OPENING] = "OPENING",
        [LINK_GREETING] = "GREETING", [LINK_UP] = "UP",
        [LINK_BROKEN] = "BROKEN",     [LINK_CLOSING] = "CLOSING",
        [LINK_DOWN] = "DOWN",
    };
    return (size_t)s < sizeof names / sizeof *names ? names[s] : "?";
}

const char *link_event_name(enum link_event ev)
{
    static const char *const names[] = {
        [LINK_EV_CONNECTED] = "connected",
        [LINK_EV_OPENED] = "opened",
        [LINK_EV_GREETED] = "greeted",
        [LINK_EV_BREAK] = "break",
        [LINK_EV_RESUME] = "resume",
        [LINK_EV_CLOSE] = "close",
        [LINK_EV_END] = "end",
    };
    return (size_t)ev < sizeof names / sizeof *names ? names[ev] : "?";
}
