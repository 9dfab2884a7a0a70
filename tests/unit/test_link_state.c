// The states of a link, each against each event.
#include <criterion/criterion.h>

#include "wire/link_state.h"

enum { NO = -1, STATES = LINK_DOWN + 1, EVENTS = LINK_EV_END + 1 };

Test(link_state, every_event_in_every_state)
{
    static const int expected[STATES][EVENTS] = {
        // CONNECTED  OPENED  GREETED  BREAK  RESUME  CLOSE  END
        {LINK_OPENING, NO, NO, NO, NO, NO, LINK_DOWN},          // DIALING
        {NO, LINK_GREETING, NO, NO, NO, NO, LINK_DOWN},         // OPENING
        {NO, NO, LINK_UP, NO, NO, LINK_CLOSING, LINK_DOWN},     // GREETING
        {NO, NO, NO, LINK_BROKEN, NO, LINK_CLOSING, LINK_DOWN}, // UP
        {NO, NO, NO, NO, LINK_UP, NO, LINK_DOWN},               // BROKEN
        {NO, NO, NO, LINK_BROKEN, NO, NO, LINK_DOWN},           // CLOSING
        {NO, NO, NO, NO, NO, NO, NO},                           // DOWN
    };
    for (int from = 0; from < STATES; from++)
        for (int ev = 0; ev < EVENTS; ev++) {
            enum link_state s = (enum link_state)from;
            bool can = link_state_next(&s, (enum link_event)ev);
            cr_assert_eq(can, expected[from][ev] != NO, "%s in %s",
                         link_event_name((enum link_event)ev),
                         link_state_name((enum link_state)from));
            cr_assert_eq((int)s, can ? expected[from][ev] : from);
        }
}

Test(link_state, everything_has_a_name)
{
    for (int s = 0; s < STATES; s++)
        cr_assert_str_neq(link_state_name((enum link_state)s), "?");
    for (int ev = 0; ev < EVENTS; ev++)
        cr_assert_str_neq(link_event_name((enum link_event)ev), "?");
    cr_assert_str_eq(link_state_name((enum link_state)99), "?");
    cr_assert_str_eq(link_state_name((enum link_state) - 1), "?");
}
