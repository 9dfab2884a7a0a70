// The job's state table.
#include "launcher/job_fsm.h"

#include <stddef.h>

static const struct {
    enum job_state from;
    enum job_event event;
    enum job_state to;
} table[] = {
    // before any rank
    {JOB_DISCOVER, JOB_EV_FOUND, JOB_CONNECT},
    {JOB_DISCOVER, JOB_EV_CAUSE, JOB_CLOSE},
    {JOB_CONNECT, JOB_EV_CONNECTED, JOB_CLAIM},
    {JOB_CONNECT, JOB_EV_CAUSE, JOB_CLOSE},
    {JOB_CONNECT, JOB_EV_LEAVE, JOB_CLOSE},
    {JOB_CLAIM, JOB_EV_CLAIMED, JOB_INSPECT},
    {JOB_CLAIM, JOB_EV_AGAIN, JOB_MUSTER},
    {JOB_CLAIM, JOB_EV_CAUSE, JOB_CLOSE},
    {JOB_CLAIM, JOB_EV_LEAVE, JOB_CLOSE},
    // an attempt
    {JOB_MUSTER, JOB_EV_MUSTERED, JOB_INSPECT},
    {JOB_MUSTER, JOB_EV_LEAVE, JOB_CLOSE},
    {JOB_MUSTER, JOB_EV_CAUSE, JOB_DRAIN},
    {JOB_INSPECT, JOB_EV_INSPECTED, JOB_PREPARE},
    {JOB_INSPECT, JOB_EV_AGAIN, JOB_MUSTER},
    {JOB_INSPECT, JOB_EV_LEAVE, JOB_CLOSE},
    {JOB_INSPECT, JOB_EV_CAUSE, JOB_DRAIN},
    {JOB_PREPARE, JOB_EV_READY, JOB_START},
    {JOB_PREPARE, JOB_EV_LEAVE, JOB_CLOSE},
    {JOB_PREPARE, JOB_EV_CAUSE, JOB_STOP},
    {JOB_START, JOB_EV_STARTED, JOB_RUN},
    {JOB_START, JOB_EV_LEAVE, JOB_CLOSE},
    {JOB_START, JOB_EV_CAUSE, JOB_STOP},
    {JOB_RUN, JOB_EV_ENDED, JOB_STOP},
    {JOB_RUN, JOB_EV_LEAVE, JOB_CLOSE},
    {JOB_RUN, JOB_EV_CAUSE, JOB_STOP},
    {JOB_STOP, JOB_EV_STOPPED, JOB_DRAIN},
    {JOB_STOP, JOB_EV_AGAIN, JOB_MUSTER},
    {JOB_STOP, JOB_EV_LEAVE, JOB_CLOSE},
    // the end
    {JOB_DRAIN, JOB_EV_DRAINED, JOB_CLOSE},
    {JOB_DRAIN, JOB_EV_LEAVE, JOB_CLOSE},
    {JOB_CLOSE, JOB_EV_CLOSED, JOB_DONE},
};

enum job_state job_fsm_next(enum job_state s, enum job_event ev)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == s && table[i].event == ev)
            return table[i].to;
    return s;
}

const char *job_state_name(enum job_state s)
{
    static const char *const names[JOB_STATES] = {
        "discover", "connect", "claim", "muster", "inspect", "prepare",
        "start",    "run",     "stop",  "drain",  "close",   "done"};
    return names[s];
}

const char *job_event_name(enum job_event ev)
{
    static const char *const names[JOB_EVENTS] = {
        "found", "connected", "claimed", "leave",    "ready",     "started", "ended",
        "cause", "stopped",   "again",   "mustered", "inspected", "drained", "closed"};
    return names[ev];
}
