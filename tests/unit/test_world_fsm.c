// The states of a spawned world.
#include <criterion/criterion.h>

#include "launcher/world_fsm.h"

Test(world_fsm, every_event_in_every_state)
{
    // READY, STARTED, FAILED
    static const enum world_state want[WORLD_STATES][WORLD_EVENTS] = {
        [WORLD_PREPARING] = {WORLD_STARTING, WORLD_PREPARING, WORLD_FAILED},
        [WORLD_STARTING] = {WORLD_STARTING, WORLD_RUNNING, WORLD_STARTING},
        [WORLD_RUNNING] = {WORLD_RUNNING, WORLD_RUNNING, WORLD_RUNNING},
        [WORLD_FAILED] = {WORLD_FAILED, WORLD_FAILED, WORLD_FAILED},
    };
    for (int from = 0; from < WORLD_STATES; from++)
        for (int ev = 0; ev < WORLD_EVENTS; ev++) {
            enum world_state s = from;
            bool moved = world_fsm_next(&s, ev);
            cr_assert_eq(s, want[from][ev], "%s -- %s", world_state_name(from),
                         world_event_name(ev));
            cr_assert_eq(moved, (int)s != from);
        }
}
