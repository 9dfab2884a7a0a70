// The table of an inspector.
#include "agent/inspector_fsm.h"

#include <stddef.h>

static const struct {
    enum inspector_state from;
    enum inspector_event event;
    enum inspector_state to;
} table[] = {
    {INSPECTOR_WAITING, INSPECTOR_EV_ORDER, INSPECTOR_RUNNING},
    {INSPECTOR_WAITING, INSPECTOR_EV_ORPHANED, INSPECTOR_OVER},
    {INSPECTOR_RUNNING, INSPECTOR_EV_ENDED, INSPECTOR_CLEARING},
    {INSPECTOR_RUNNING, INSPECTOR_EV_LATE, INSPECTOR_CLEARING},
    {INSPECTOR_RUNNING, INSPECTOR_EV_ORPHANED, INSPECTOR_ORPHANED},
    {INSPECTOR_CLEARING, INSPECTOR_EV_NEXT, INSPECTOR_RUNNING},
    {INSPECTOR_CLEARING, INSPECTOR_EV_LAST, INSPECTOR_OVER},
    {INSPECTOR_CLEARING, INSPECTOR_EV_STUCK, INSPECTOR_OVER},
    {INSPECTOR_CLEARING, INSPECTOR_EV_ORPHANED, INSPECTOR_ORPHANED},
    {INSPECTOR_ORPHANED, INSPECTOR_EV_LAST, INSPECTOR_OVER},
    {INSPECTOR_ORPHANED, INSPECTOR_EV_STUCK, INSPECTOR_OVER},
};

enum inspector_state inspector_fsm_next(enum inspector_state s, enum inspector_event ev)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == s && table[i].event == ev)
            return table[i].to;
    return s;
}

const char *inspector_state_name(enum inspector_state s)
{
    static const char *const names[INSPECTOR_STATES] = {"waiting", "running",
                                                        "clearing", "orphaned", "over"};
    return names[s];
}

const char *inspector_event_name(enum inspector_event ev)
{
    static const char *const names[INSPECTOR_EVENTS] = {
        "order", "ended", "late", "next", "last", "stuck", "orphaned"};
    return names[ev];
}
