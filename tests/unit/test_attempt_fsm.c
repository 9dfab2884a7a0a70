// The states of an attempt in the agent.
#include <criterion/criterion.h>
#include <string.h>

#include "agent/attempt_fsm.h"

// Where each event leads to; 0 (PREPARING, where nothing leads back to): the state stays.
static const enum attempt_state expected[ATTEMPT_STATES][ATTEMPT_EVENTS] = {
    [ATTEMPT_PREPARING] = {[ATTEMPT_EV_PREPARED] = ATTEMPT_READY,
                           [ATTEMPT_EV_FAILED] = ATTEMPT_FAILED,
                           [ATTEMPT_EV_STOP] = ATTEMPT_STOPPING,
                           [ATTEMPT_EV_KEEPER_GONE] = ATTEMPT_STOPPED},
    [ATTEMPT_READY] = {[ATTEMPT_EV_GO] = ATTEMPT_STARTING,
                       [ATTEMPT_EV_FAILED] = ATTEMPT_FAILED,
                       [ATTEMPT_EV_STOP] = ATTEMPT_STOPPING,
                       [ATTEMPT_EV_KEEPER_GONE] = ATTEMPT_STOPPED},
    [ATTEMPT_STARTING] = {[ATTEMPT_EV_STARTED] = ATTEMPT_RUNNING,
                          [ATTEMPT_EV_FAILED] = ATTEMPT_FAILED,
                          [ATTEMPT_EV_STOP] = ATTEMPT_STOPPING,
                          [ATTEMPT_EV_KEEPER_GONE] = ATTEMPT_STOPPED},
    [ATTEMPT_RUNNING] = {[ATTEMPT_EV_STOP] = ATTEMPT_STOPPING,
                         [ATTEMPT_EV_KEEPER_GONE] = ATTEMPT_STOPPED},
    [ATTEMPT_FAILED] = {[ATTEMPT_EV_STOP] = ATTEMPT_STOPPING,
                        [ATTEMPT_EV_KEEPER_GONE] = ATTEMPT_STOPPED},
    [ATTEMPT_STOPPING] = {[ATTEMPT_EV_STOPPED] = ATTEMPT_STOPPED,
                          [ATTEMPT_EV_KEEPER_GONE] = ATTEMPT_STOPPED},
};

Test(attempt_fsm, every_event_in_every_state)
{
    for (int s = 0; s < ATTEMPT_STATES; s++)
        for (int ev = 0; ev < ATTEMPT_EVENTS; ev++) {
            int to = expected[s][ev] != ATTEMPT_PREPARING ? (int)expected[s][ev] : s;
            cr_assert_eq((int)attempt_fsm_next(s, ev), to, "%s -- %s --> %s",
                         attempt_state_name(s), attempt_event_name(ev),
                         attempt_state_name(to));
        }
}

Test(attempt_fsm, a_good_attempt_goes_through)
{
    enum attempt_state s = ATTEMPT_PREPARING;
    s = attempt_fsm_next(s, ATTEMPT_EV_PREPARED);
    cr_assert_eq(s, ATTEMPT_READY);
    s = attempt_fsm_next(s, ATTEMPT_EV_GO);
    cr_assert_eq(s, ATTEMPT_STARTING);
    s = attempt_fsm_next(s, ATTEMPT_EV_STARTED);
    cr_assert_eq(s, ATTEMPT_RUNNING);
    s = attempt_fsm_next(s, ATTEMPT_EV_STOP);
    cr_assert_eq(s, ATTEMPT_STOPPING);
    s = attempt_fsm_next(s, ATTEMPT_EV_STOPPED);
    cr_assert_eq(s, ATTEMPT_STOPPED);
}

Test(attempt_fsm, stop_leads_to_stopped_from_every_state)
{
    for (int s = 0; s < ATTEMPT_STATES; s++) {
        enum attempt_state to =
            attempt_fsm_next((enum attempt_state)s, ATTEMPT_EV_STOP);
        cr_assert(to == ATTEMPT_STOPPING || to == ATTEMPT_STOPPED, "from %s",
                  attempt_state_name((enum attempt_state)s));
        cr_assert_eq(attempt_fsm_next(ATTEMPT_STOPPING, ATTEMPT_EV_KEEPER_GONE),
                     ATTEMPT_STOPPED);
    }
}

// The PMIx server can be lost after SPAWN: whoever failed has to be stopped by its keeper.
Test(attempt_fsm, a_failed_attempt_is_stopped_by_its_keeper)
{
    enum attempt_state s = attempt_fsm_next(ATTEMPT_STARTING, ATTEMPT_EV_FAILED);
    cr_assert_eq(s, ATTEMPT_FAILED);
    cr_assert_eq(attempt_fsm_next(s, ATTEMPT_EV_STOP), ATTEMPT_STOPPING);
    cr_assert_eq(attempt_fsm_next(s, ATTEMPT_EV_KEEPER_GONE), ATTEMPT_STOPPED);
}

Test(attempt_fsm, ranks_are_never_started_before_ready_or_after_stop)
{
    for (int s = 0; s < ATTEMPT_STATES; s++) {
        enum attempt_state to = attempt_fsm_next((enum attempt_state)s, ATTEMPT_EV_GO);
        cr_assert_eq(to == ATTEMPT_STARTING,
                     s == ATTEMPT_READY || s == ATTEMPT_STARTING);
    }
}

Test(attempt_fsm, everything_has_a_name)
{
    for (int s = 0; s < ATTEMPT_STATES; s++)
        cr_assert_gt(strlen(attempt_state_name((enum attempt_state)s)), 0);
    for (int ev = 0; ev < ATTEMPT_EVENTS; ev++)
        cr_assert_gt(strlen(attempt_event_name((enum attempt_event)ev)), 0);
}
