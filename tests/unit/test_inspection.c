// A member's inspection through every pair of state and event, and whom one is due for.
#include <criterion/criterion.h>
#include <string.h>

#include "launcher/inspection.h"

// Where each event leads to; where none is written the state stays.
static const struct {
    enum inspection_state from;
    enum inspection_event event;
    enum inspection_state to;
} moves[] = {
    {INSPECTION_UNKNOWN, INSPECTION_EV_ASKED, INSPECTION_ASKED},
    {INSPECTION_ASKED, INSPECTION_EV_PASSED, INSPECTION_FIT},
    {INSPECTION_ASKED, INSPECTION_EV_FAILED, INSPECTION_UNFIT},
    {INSPECTION_ASKED, INSPECTION_EV_LOST, INSPECTION_UNKNOWN},
    {INSPECTION_ASKED, INSPECTION_EV_RENEWED, INSPECTION_UNKNOWN},
    {INSPECTION_UNKNOWN, INSPECTION_EV_FAILED, INSPECTION_UNFIT},
    {INSPECTION_FIT, INSPECTION_EV_FAILED, INSPECTION_UNFIT},
    {INSPECTION_FIT, INSPECTION_EV_RENEWED, INSPECTION_UNKNOWN},
    {INSPECTION_FIT, INSPECTION_EV_PREPARED, INSPECTION_UNKNOWN},
    {INSPECTION_UNFIT, INSPECTION_EV_RENEWED, INSPECTION_UNKNOWN},
};

static int expected(int s, int ev)
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if ((int)moves[i].from == s && (int)moves[i].event == ev)
            return (int)moves[i].to;
    return s;
}

Test(inspection, every_event_in_every_state)
{
    for (int s = 0; s < INSPECTION_STATES; s++)
        for (int ev = 0; ev < INSPECTION_EVENTS; ev++)
            cr_assert_eq((int)inspection_next((enum inspection_state)s,
                                              (enum inspection_event)ev),
                         expected(s, ev), "%s -- %s",
                         inspection_state_name((enum inspection_state)s),
                         inspection_event_name((enum inspection_event)ev));
}

Test(inspection, who_is_not_fit_stays_so_until_another_agent_comes)
{
    for (int ev = 0; ev < INSPECTION_EVENTS; ev++)
        cr_assert_eq(inspection_next(INSPECTION_UNFIT, (enum inspection_event)ev),
                     ev == INSPECTION_EV_RENEWED ? INSPECTION_UNKNOWN
                                                 : INSPECTION_UNFIT);
}

Test(inspection, before_is_due_for_a_spare_that_comes_later_too)
{
    const struct inspection_member late = {.there = true, .renewed = true};
    cr_assert(inspection_is_due(INSPECTION_BEFORE, false, &late));
    cr_assert_not(inspection_is_due(INSPECTION_ON_FAILURE, true, &late));
}

static bool due(unsigned when, bool first, bool renewed)
{
    const struct inspection_member m = {
        .there = true, .seen = true, .renewed = renewed};
    return inspection_is_due(when, first, &m);
}

Test(inspection, due_as_check_says)
{
    cr_assert(due(INSPECTION_BEFORE, true, false));
    cr_assert_not(due(INSPECTION_BEFORE, false, false));
    cr_assert_not(due(INSPECTION_BEFORE, false, true));
    cr_assert(due(INSPECTION_ON_FAILURE, false, false));
    cr_assert_not(due(INSPECTION_ON_FAILURE, true, false));
    cr_assert(due(INSPECTION_REPLACEMENT, false, true));
    cr_assert_not(due(INSPECTION_REPLACEMENT, false, false));
    cr_assert_not(due(0, true, true));
    cr_assert_not(due(0, false, true));
}

Test(inspection, only_members_that_are_there_and_of_whom_nothing_is_known)
{
    const unsigned all =
        INSPECTION_BEFORE | INSPECTION_ON_FAILURE | INSPECTION_REPLACEMENT;
    for (int s = 0; s < INSPECTION_STATES; s++)
        for (int there = 0; there < 2; there++) {
            const struct inspection_member m = {.state = (enum inspection_state)s,
                                                .there = there != 0};
            cr_assert_eq(inspection_is_due(all, true, &m),
                         there && s == INSPECTION_UNKNOWN);
        }
}

Test(inspection, words_become_a_set)
{
    ERR_AUTO err = ERR_INIT;
    unsigned when = 0;
    cr_assert_eq(inspection_parse("before,replacement", &when, &err), 0);
    cr_assert_eq(when, (unsigned)(INSPECTION_BEFORE | INSPECTION_REPLACEMENT));
    cr_assert_eq(inspection_parse("on-failure", &when, &err), 0);
    cr_assert_eq(when, (unsigned)INSPECTION_ON_FAILURE);
    cr_assert_lt(inspection_parse("before,soon", &when, &err), 0);
    cr_assert(strstr(err_text(&err), "'soon'") != NULL);
    cr_assert_lt(inspection_parse("", &when, &err), 0);
    cr_assert_lt(inspection_parse(",", &when, &err), 0);
    cr_assert_eq(when, (unsigned)INSPECTION_ON_FAILURE); // as it was
}
