// The job's states, through every pair of state and event.
#include <criterion/criterion.h>
#include <string.h>

#include "launcher/job_fsm.h"

// Where each event leads to; where none is written the state stays.
static const enum job_state expected[JOB_STATES][JOB_EVENTS] = {
    [JOB_DISCOVER] = {[JOB_EV_FOUND] = JOB_CONNECT, [JOB_EV_CAUSE] = JOB_CLOSE},
    [JOB_CONNECT] = {[JOB_EV_CONNECTED] = JOB_CLAIM,
                     [JOB_EV_CAUSE] = JOB_CLOSE,
                     [JOB_EV_LEAVE] = JOB_CLOSE},
    [JOB_CLAIM] = {[JOB_EV_CLAIMED] = JOB_INSPECT,
                   [JOB_EV_AGAIN] = JOB_MUSTER,
                   [JOB_EV_CAUSE] = JOB_CLOSE,
                   [JOB_EV_LEAVE] = JOB_CLOSE},
    [JOB_MUSTER] = {[JOB_EV_LEAVE] = JOB_CLOSE,
                    [JOB_EV_MUSTERED] = JOB_INSPECT,
                    [JOB_EV_CAUSE] = JOB_DRAIN},
    [JOB_INSPECT] = {[JOB_EV_LEAVE] = JOB_CLOSE,
                     [JOB_EV_INSPECTED] = JOB_PREPARE,
                     [JOB_EV_AGAIN] = JOB_MUSTER,
                     [JOB_EV_CAUSE] = JOB_DRAIN},
    [JOB_PREPARE] = {[JOB_EV_LEAVE] = JOB_CLOSE,
                     [JOB_EV_READY] = JOB_START,
                     [JOB_EV_CAUSE] = JOB_STOP},
    [JOB_START] = {[JOB_EV_LEAVE] = JOB_CLOSE,
                   [JOB_EV_STARTED] = JOB_RUN,
                   [JOB_EV_CAUSE] = JOB_STOP},
    [JOB_RUN] = {[JOB_EV_LEAVE] = JOB_CLOSE,
                 [JOB_EV_ENDED] = JOB_STOP,
                 [JOB_EV_CAUSE] = JOB_STOP},
    [JOB_STOP] = {[JOB_EV_LEAVE] = JOB_CLOSE,
                  [JOB_EV_STOPPED] = JOB_DRAIN,
                  [JOB_EV_AGAIN] = JOB_MUSTER},
    [JOB_DRAIN] = {[JOB_EV_LEAVE] = JOB_CLOSE, [JOB_EV_DRAINED] = JOB_CLOSE},
    [JOB_CLOSE] = {[JOB_EV_CLOSED] = JOB_DONE},
};

Test(job_fsm, every_event_in_every_state)
{
    for (int s = 0; s < JOB_STATES; s++)
        for (int ev = 0; ev < JOB_EVENTS; ev++) {
            // JOB_DISCOVER is 0, and nothing leads back to it.
            int to = expected[s][ev] != JOB_DISCOVER ? (int)expected[s][ev] : s;
            cr_assert_eq((int)job_fsm_next((enum job_state)s, (enum job_event)ev), to,
                         "%s -- %s --> %s", job_state_name((enum job_state)s),
                         job_event_name((enum job_event)ev),
                         job_state_name((enum job_state)to));
        }
}

static enum job_state go(enum job_state s, const enum job_event *way, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s = job_fsm_next(s, way[i]);
    return s;
}

Test(job_fsm, a_good_run_goes_from_found_to_closed)
{
    static const enum job_event good[] = {
        JOB_EV_FOUND,   JOB_EV_CONNECTED, JOB_EV_CLAIMED, JOB_EV_INSPECTED,
        JOB_EV_READY,   JOB_EV_STARTED,   JOB_EV_ENDED,   JOB_EV_STOPPED,
        JOB_EV_DRAINED, JOB_EV_CLOSED};
    cr_assert_eq(go(JOB_DISCOVER, good, sizeof good / sizeof *good), JOB_DONE);
}

Test(job_fsm, a_failure_leads_round_to_the_next_attempt)
{
    static const enum job_event round[] = {JOB_EV_CAUSE,    JOB_EV_AGAIN,
                                           JOB_EV_MUSTERED, JOB_EV_INSPECTED,
                                           JOB_EV_READY,    JOB_EV_STARTED};
    cr_assert_eq(go(JOB_RUN, round, sizeof round / sizeof *round), JOB_RUN);
    cr_assert_eq(go(JOB_PREPARE, round, 4), JOB_PREPARE); // the next one's
}

Test(job_fsm, who_is_not_fit_is_replaced_before_the_attempt_begins)
{
    static const enum job_event round[] = {JOB_EV_AGAIN, JOB_EV_MUSTERED,
                                           JOB_EV_INSPECTED};
    cr_assert_eq(go(JOB_INSPECT, round, 1), JOB_MUSTER);
    cr_assert_eq(go(JOB_INSPECT, round, 3), JOB_PREPARE);
}

Test(job_fsm, a_cause_never_leaves_ranks_unproven)
{
    for (int s = JOB_DISCOVER; s < JOB_STATES; s++) {
        enum job_state to = job_fsm_next((enum job_state)s, JOB_EV_CAUSE);
        if (s == JOB_PREPARE || s == JOB_START || s == JOB_RUN)
            cr_assert_eq(to, JOB_STOP);
        else
            cr_assert_neq(to, JOB_PREPARE);
    }
}

Test(job_fsm, states_and_events_have_names)
{
    for (int s = 0; s < JOB_STATES; s++)
        cr_assert_gt(strlen(job_state_name((enum job_state)s)), 0);
    for (int ev = 0; ev < JOB_EVENTS; ev++)
        cr_assert_gt(strlen(job_event_name((enum job_event)ev)), 0);
}
