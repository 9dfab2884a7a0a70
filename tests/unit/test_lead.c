// When a launcher that ended is started again.
#include <criterion/criterion.h>
#include <signal.h>

#include "agent/lead.h"

enum { SHORT_MS = 1000 };

Test(lead, an_exit_code_is_the_end)
{
    struct lead_tries t = {0};
    uint32_t pause = 0;
    cr_assert(!lead_again(&t, 0, SHORT_MS, &pause));
    cr_assert(!lead_again(&t, 125 << 8, SHORT_MS, &pause));
}

Test(lead, pauses_grow_up_to_their_bound_and_then_it_is_given_up)
{
    struct lead_tries t = {0};
    uint32_t pause = 0, before = 0;
    for (int i = 0; i < LEAD_CRASHES_MAX; i++) {
        cr_assert(lead_again(&t, SIGKILL, SHORT_MS, &pause));
        cr_assert(i == 0 ? pause == LEAD_PAUSE_FIRST_MS
                         : pause == 2 * before || pause == LEAD_PAUSE_MAX_MS);
        before = pause;
    }
    cr_assert_eq(pause, LEAD_PAUSE_MAX_MS);
    cr_assert(!lead_again(&t, SIGKILL, SHORT_MS, &pause));
}

Test(lead, one_that_ran_long_begins_anew)
{
    struct lead_tries t = {0};
    uint32_t pause = 0;
    for (int i = 0; i < 10 * LEAD_CRASHES_MAX; i++) {
        cr_assert(lead_again(&t, SIGSEGV, LEAD_HEALTHY_MS, &pause));
        cr_assert_eq(pause, LEAD_PAUSE_FIRST_MS);
    }
    cr_assert(lead_again(&t, SIGSEGV, SHORT_MS, &pause));
    cr_assert_eq(pause, 2 * LEAD_PAUSE_FIRST_MS);
}
