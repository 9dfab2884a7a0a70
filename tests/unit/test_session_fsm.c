// The states of a session in the agent.
#include <criterion/criterion.h>

#include "agent/session_fsm.h"

Test(session_fsm, every_event_in_every_state)
{
    // ATTACH, LOST, CLOSED, GIVE_WAY
    static const enum session_state want[SESSION_STATES][SESSION_EVENTS] = {
        [SESSION_GREETED] = {SESSION_ATTACHED, SESSION_ORPHANED, SESSION_CLOSING,
                             SESSION_GREETED},
        [SESSION_ATTACHED] = {SESSION_ATTACHED, SESSION_ORPHANED, SESSION_CLOSING,
                              SESSION_CLOSING},
        [SESSION_ORPHANED] = {SESSION_ORPHANED, SESSION_ORPHANED, SESSION_ORPHANED,
                              SESSION_CLOSING},
        [SESSION_CLOSING] = {SESSION_CLOSING, SESSION_CLOSING, SESSION_CLOSING,
                             SESSION_CLOSING},
    };
    for (int s = 0; s < SESSION_STATES; s++)
        for (int ev = 0; ev < SESSION_EVENTS; ev++)
            cr_assert_eq(session_fsm_next(s, ev), want[s][ev], "%s -- %s",
                         session_state_name(s), session_event_name(ev));
}
