// When a roll counts: beats, silence, the start, and a reader that did not run.
#include <criterion/criterion.h>
#include <string.h>

#include "sidecar/lease_clock.h"

enum { LEASE = ROLL_LEASE_MS, STEP = 500 };

static struct roll_beat beat(char id, uint64_t generation, uint64_t count)
{
    struct roll_beat b = {.generation = generation, .count = count};
    memset(b.id, id, ROLL_LEASE_ID_LEN);
    return b;
}

// Looks every half second from *now on, for so long; the state at the end.
static enum lease_state looks(struct lease_clock *c, uint64_t *now, uint64_t ms,
                              const struct roll_beat *b)
{
    enum lease_state s = c->state;
    for (uint64_t end = *now + ms; *now < end; *now += STEP)
        s = lease_clock_look(c, *now, b, LEASE);
    return s;
}

Test(lease_clock, without_a_roll_the_own_source_counts_at_once)
{
    struct lease_clock c = {0};
    cr_assert_eq(lease_clock_look(&c, 5, NULL, LEASE), LEASE_OWN);
}

Test(lease_clock, a_roll_that_appears_counts_at_once)
{
    struct lease_clock c = {0};
    struct roll_beat b = beat('a', 1, 1);
    lease_clock_look(&c, 5, NULL, LEASE);
    cr_assert_eq(lease_clock_look(&c, 6, &b, LEASE), LEASE_HELD);
}

Test(lease_clock, what_lies_there_at_the_start_has_to_move)
{
    struct lease_clock c = {0};
    struct roll_beat b = beat('a', 1, 1);
    uint64_t now = 1000;
    cr_assert_eq(looks(&c, &now, 2500, &b), LEASE_LOOKING);
    cr_assert_eq(looks(&c, &now, 1500, &b), LEASE_OWN);
    b.count++;
    cr_assert_eq(lease_clock_look(&c, now, &b, LEASE), LEASE_HELD);
}

Test(lease_clock, a_roll_whose_agent_lives_counts_after_one_beat)
{
    struct lease_clock c = {0};
    struct roll_beat b = beat('a', 1, 1);
    lease_clock_look(&c, 0, &b, LEASE);
    b.count++;
    cr_assert_eq(lease_clock_look(&c, 900, &b, LEASE), LEASE_HELD);
}

Test(lease_clock, it_is_held_as_long_as_it_beats_and_a_lease_longer)
{
    struct lease_clock c = {0};
    struct roll_beat b = beat('a', 1, 1);
    uint64_t now = 0;
    looks(&c, &now, STEP, NULL);
    for (int i = 0; i < 100; i++, b.count++)
        cr_assert_eq(looks(&c, &now, 1000, &b), LEASE_HELD);
    cr_assert_eq(looks(&c, &now, LEASE - 1000, &b), LEASE_HELD);
    cr_assert_eq(looks(&c, &now, 3000, &b), LEASE_OWN);
    b.count++; // late, but it lives
    cr_assert_eq(looks(&c, &now, STEP, &b), LEASE_HELD);
}

Test(lease_clock, it_is_over_at_once_when_it_is_taken_away)
{
    struct lease_clock c = {0};
    struct roll_beat b = beat('a', 1, 1);
    lease_clock_look(&c, 0, NULL, LEASE);
    lease_clock_look(&c, 1, &b, LEASE);
    cr_assert_eq(lease_clock_look(&c, 2, NULL, LEASE), LEASE_OWN);
}

Test(lease_clock, another_agents_roll_counts_though_its_count_is_the_same)
{
    struct lease_clock c = {0};
    struct roll_beat a = beat('a', 1, 1), b = beat('b', 1, 1);
    uint64_t now = 0;
    looks(&c, &now, STEP, NULL);
    looks(&c, &now, 9000, &a);
    looks(&c, &now, 2000, &b);
    cr_assert_eq(looks(&c, &now, 7000, &b), LEASE_HELD);
}

Test(lease_clock, time_in_which_the_reader_was_frozen_does_not_count)
{
    struct lease_clock c = {0};
    struct roll_beat b = beat('a', 1, 1);
    uint64_t now = 0;
    looks(&c, &now, STEP, NULL);
    looks(&c, &now, 2000, &b);
    now += 3600 * 1000; // the whole pod slept
    cr_assert_eq(lease_clock_look(&c, now, &b, LEASE), LEASE_HELD);
    cr_assert_eq(looks(&c, &now, 5000, &b), LEASE_HELD);
    cr_assert_eq(looks(&c, &now, 6000, &b), LEASE_OWN);
}
