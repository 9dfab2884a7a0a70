// The job's states, through every pair of state and event.
#include <criterion/criterion.h>
#include <string.h>

#include "launcher/job_fsm.h"

Test(job_fsm, a_good_run_goes_through_all_states)
{
    static const enum job_event good[] = {
        JOB_EV_FOUND, JOB_EV_CONNECTED, JOB_EV_READY,   JOB_EV_STARTED,
        JOB_EV_ENDED, JOB_EV_STOPPED,   JOB_EV_DRAINED, JOB_EV_CLOSED};
    enum job_state s = JOB_DISCOVER;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cr_assert_eq((int)s, (int)i);
        s = job_fsm_next(s, good[i]);
    }
    cr_assert_eq(s, JOB_DONE);
}

Test(job_fsm, a_cause_never_leaves_ranks_unproven)
{
    for (int s = JOB_DISCOVER; s < JOB_STATES; s++) {
        enum job_state to = job_fsm_next((enum job_state)s, JOB_EV_CAUSE);
        if (s == JOB_PREPARE || s == JOB_START || s == JOB_RUN)
            cr_assert_eq(to, JOB_STOP);
        else if (s < JOB_PREPARE)
            cr_assert_eq(to, JOB_CLOSE);
        else
            cr_assert_eq((int)to, s);
    }
}

Test(job_fsm, never_goes_back_and_only_knows_named_states)
{
    for (int s = 0; s < JOB_STATES; s++) {
        cr_assert_gt(strlen(job_state_name((enum job_state)s)), 0);
        for (int ev = 0; ev < JOB_EVENTS; ev++) {
            cr_assert_gt(strlen(job_event_name((enum job_event)ev)), 0);
            cr_assert_geq((int)job_fsm_next((enum job_state)s, (enum job_event)ev), s);
        }
    }
}

Test(job_fsm, late_answers_change_nothing)
{
    cr_assert_eq(job_fsm_next(JOB_STOP, JOB_EV_STARTED), JOB_STOP);
    cr_assert_eq(job_fsm_next(JOB_RUN, JOB_EV_DRAINED), JOB_RUN);
    cr_assert_eq(job_fsm_next(JOB_DONE, JOB_EV_CLOSED), JOB_DONE);
}
