// How long ranks can outlive the last word of them.
#include <criterion/criterion.h>

#include "wire/graces.h"
#include "wire/link.h"

enum { DEAD_MS = LINK_HEARTBEAT_MS * LINK_DEAD_BEATS };

Test(graces, a_silent_link_ends_so_long_after_its_last_byte)
{
    cr_assert_eq(graces_link_end(3000, 0, 5000), 5000);
    cr_assert_eq(graces_link_end(13000, 10000, 5000), 15000);
}

Test(graces, there_is_time_for_one_try)
{
    cr_assert_eq(graces_link_end(3000, 0, 3500), 4000);
    cr_assert_eq(graces_link_end(3000, 0, 1000), 4000);
    cr_assert_eq(graces_link_end(3000, 0, 300), 3300);
    cr_assert_eq(graces_link_end(3000, 0, 0), 3000);
}

Test(graces, orphans_get_no_long_grace)
{
    cr_assert_eq(graces_term_ms(60000), GRACES_TERM_MS);
    cr_assert_eq(graces_term_ms(300), 300);
    cr_assert_eq(graces_term_ms(0), 0);
}

// An agent as session.c and link_resume.c have it, below `below` others; all of them heard
// their parents as late as they can: when are its ranks gone?
static uint64_t last_rank_ms(const struct graces *g, unsigned below)
{
    uint64_t heard = g->dead_ms; // of the top one: when the launcher gave up sending
    for (unsigned i = 0; i < below; i++)
        heard = graces_link_end(heard + g->dead_ms, heard, g->link_ms);
    uint64_t down = graces_link_end(heard + g->dead_ms, heard, g->link_ms);
    uint64_t term = heard + g->orphan_ms > down ? heard + g->orphan_ms : down;
    return term + graces_term_ms(g->stop_ms);
}

Test(graces, the_fence_is_behind_the_last_rank_and_not_by_much)
{
    static const uint32_t links[] = {0, 300, 1000, 5000, 60000};
    static const uint32_t orphans[] = {0, 200, 2000, 6000, 100000};
    static const uint32_t stops[] = {0, 1000, 10000};
    for (unsigned below = 0; below < 4; below++)
        for (int l = 0; l < 5; l++)
            for (int o = 0; o < 5; o++)
                for (int s = 0; s < 3; s++) {
                    struct graces g = {DEAD_MS, links[l], orphans[o], stops[s]};
                    cr_assert_eq(graces_outlive_ms(&g, below),
                                 last_rank_ms(&g, below) + graces_margin_ms(&g),
                                 "%u below, link %u, orphan %u, stop %u", below,
                                 links[l], orphans[o], stops[s]);
                }
}

Test(graces, the_defaults_come_to_thirteen_seconds)
{
    struct graces g = {DEAD_MS, 5000, 6000, 10000};
    cr_assert_eq(graces_outlive_ms(&g, 0), 12750);
    cr_assert_eq(graces_outlive_ms(&g, 1), 17750);
}
