// The table of claims: every state and event.
#include <criterion/criterion.h>

#include "agent/handoff_fsm.h"

// WAITING, OWNER, AWAY, ABSENT, OUSTED after GRANTED, LOST, BACK, EXPIRED, OUSTED.
static const enum handoff_state want[HANDOFF_STATES][HANDOFF_EVENTS] = {
    [HANDOFF_WAITING] = {HANDOFF_OWNER, HANDOFF_ABSENT, HANDOFF_WAITING,
                         HANDOFF_WAITING, HANDOFF_OUSTED},
    [HANDOFF_OWNER] = {HANDOFF_OWNER, HANDOFF_AWAY, HANDOFF_OWNER, HANDOFF_OWNER,
                       HANDOFF_OUSTED},
    [HANDOFF_AWAY] = {HANDOFF_AWAY, HANDOFF_AWAY, HANDOFF_OWNER, HANDOFF_ABSENT,
                      HANDOFF_OUSTED},
    [HANDOFF_ABSENT] = {HANDOFF_ABSENT, HANDOFF_ABSENT, HANDOFF_WAITING, HANDOFF_ABSENT,
                        HANDOFF_OUSTED},
    [HANDOFF_OUSTED] = {HANDOFF_OUSTED, HANDOFF_OUSTED, HANDOFF_OUSTED, HANDOFF_OUSTED,
                        HANDOFF_OUSTED},
};

Test(handoff_fsm, every_state_and_event)
{
    for (int s = 0; s < HANDOFF_STATES; s++)
        for (int e = 0; e < HANDOFF_EVENTS; e++)
            cr_assert_eq(handoff_fsm_next(s, e), want[s][e], "%s -- %s",
                         handoff_state_name(s), handoff_event_name(e));
}

Test(handoff_fsm, owner_and_away_own)
{
    for (int s = 0; s < HANDOFF_STATES; s++)
        cr_assert_eq(handoff_fsm_owns(s), s == HANDOFF_OWNER || s == HANDOFF_AWAY);
}
