// Who takes the positions of the next attempt.
#include <criterion/criterion.h>
#include <string.h>

#include "launcher/spares.h"

enum { MAX = 8 };

// "+": there, "-": not there, "!": there but failed, "x": neither. All have 2 slots.
static uint32_t seat(const char *members, uint32_t *seats, uint32_t npositions)
{
    struct spares_member m[MAX] = {{0}};
    uint32_t needs[MAX], n = (uint32_t)strlen(members);
    for (uint32_t i = 0; i < n; i++)
        m[i] = (struct spares_member){.there = members[i] == '+' || members[i] == '!',
                                      .failed = members[i] == '!' || members[i] == 'x',
                                      .slots = 2};
    for (uint32_t p = 0; p < npositions; p++)
        needs[p] = 2;
    return spares_seat(m, n, seats, needs, npositions);
}

static void expect(const char *members, const uint32_t before[3],
                   const uint32_t after[3], uint32_t vacant)
{
    uint32_t seats[3];
    memcpy(seats, before, sizeof seats);
    cr_assert_eq(seat(members, seats, 3), vacant, "%s", members);
    for (uint32_t p = 0; p < 3; p++)
        cr_assert_eq(seats[p], after[p], "%s, position %u: member %u, not %u", members,
                     p, seats[p], after[p]);
}

#define SEATS(...) ((const uint32_t[3]){__VA_ARGS__})

Test(spares, who_is_there_stays)
{
    expect("+++", SEATS(0, 1, 2), SEATS(0, 1, 2), 0);
    expect("+++++", SEATS(4, 0, 2), SEATS(4, 0, 2), 0);
}

Test(spares, only_the_vacant_position_changes_its_member)
{
    expect("+x+++", SEATS(0, 1, 2), SEATS(0, 3, 2), 0);
    expect("x+x++", SEATS(0, 1, 2), SEATS(3, 1, 4), 0);
}

Test(spares, without_a_spare_it_waits)
{
    expect("+x+", SEATS(0, 1, 2), SEATS(0, 1, 2), 1);
    expect("+x+-", SEATS(0, 1, 2), SEATS(0, 1, 2), 1);
    expect("xxx+", SEATS(0, 1, 2), SEATS(3, 1, 2), 2);
}

Test(spares, the_lost_member_comes_back_as_a_spare_and_serves_for_the_next_loss)
{
    expect("++x+", SEATS(0, 3, 2), SEATS(0, 3, 1), 0);
    expect("+!x+", SEATS(0, 3, 2), SEATS(0, 3, 1), 0); // rather than to wait
}

Test(spares, a_spare_that_has_failed_goes_last)
{
    expect("+x+!+", SEATS(0, 1, 2), SEATS(0, 4, 2), 0);
    expect("xx+!+", SEATS(0, 1, 2), SEATS(4, 3, 2), 0);
}

Test(spares, who_has_failed_gives_way_to_a_spare_that_has_not)
{
    expect("+!++", SEATS(0, 1, 2), SEATS(0, 3, 2), 0);
    expect("+!+!", SEATS(0, 1, 2), SEATS(0, 1, 2), 0);
    expect("+!+", SEATS(0, 1, 2), SEATS(0, 1, 2), 0);
    expect("x!++", SEATS(0, 1, 2), SEATS(3, 1, 2), 0); // the vacant one needs it more
}

Test(spares, it_has_the_slots_that_the_position_needs)
{
    struct spares_member m[] = {{.there = false, .slots = 8},
                                {.there = true, .slots = 7},
                                {.there = true, .slots = 8}};
    uint32_t seat = 0, needs = 8;
    cr_assert_eq(spares_seat(m, 3, &seat, &needs, 1), 0);
    cr_assert_eq(seat, 2);
    m[2].slots = 4;
    seat = 0;
    cr_assert_eq(spares_seat(m, 3, &seat, &needs, 1), 1);
    cr_assert_eq(seat, 0);
}

Test(spares, pods_that_crossed_go_back_to_where_their_hostnames_were)
{
    static const uint32_t needs[4] = {2, 2, 2, 2};
    const char *called[4] = {"a", "b", "c", "d"};
    struct spares_member m[4] = {{true, false, 2, "a"},
                                 {true, false, 2, "d"},
                                 {true, false, 2, "b"},
                                 {true, false, 2, "c"}};
    uint32_t seats[4] = {0, 1, 2, 3}; // three in a ring
    spares_recognize(m, seats, called, needs, 4);
    cr_assert_arr_eq(seats, ((uint32_t[]){0, 2, 3, 1}), sizeof seats);
    uint32_t again[4] = {0, 2, 3, 1};
    spares_recognize(m, again, called, needs, 4);
    cr_assert_arr_eq(again, seats, sizeof seats);
}

Test(spares, who_is_nobody_that_was_known_stays)
{
    static const uint32_t needs[2] = {2, 4};
    const uint32_t stay[2] = {0, 1};
    const char *called[2] = {"a", "b"};
    struct spares_member m[2] = {{true, false, 4, "x"}, {true, false, 4, "y"}};
    uint32_t seats[2] = {0, 1};
    spares_recognize(m, seats, called, needs, 2); // new pods
    cr_assert_arr_eq(seats, stay, sizeof seats);
    m[0].hostname = "b"; // but b is where it was
    m[1].hostname = "b";
    spares_recognize(m, seats, called, needs, 2);
    cr_assert_arr_eq(seats, stay, sizeof seats);
    m[1].hostname = NULL; // known by its name
    spares_recognize(m, seats, called, needs, 2);
    cr_assert_arr_eq(seats, stay, sizeof seats);
    m[1].hostname = "a";
    m[0].slots = 3; // too few for the other position
    spares_recognize(m, seats, called, needs, 2);
    cr_assert_arr_eq(seats, stay, sizeof seats);
    m[0].slots = 4;
    called[0] = "b"; // which of the two was it?
    spares_recognize(m, seats, called, needs, 2);
    cr_assert_arr_eq(seats, stay, sizeof seats);
    called[0] = NULL; // a launcher that has just come
    spares_recognize(m, seats, called, needs, 2);
    cr_assert_arr_eq(seats, stay, sizeof seats);
}

Test(spares, a_launcher_that_takes_over_keeps_the_seats_and_fills_what_nobody_had)
{
    enum { NOBODY = -1 };
    static const uint32_t needs[3] = {2, 2, 2};
    struct spares_member m[5] = {
        {.slots = 2}, {.slots = 2}, {.slots = 2}, {.slots = 2}};
    uint32_t seats[3] = {0, 1, 2};
    const uint32_t moved[3] = {3, (uint32_t)NOBODY, 1};
    cr_assert(spares_inherit(m, 5, seats, moved, needs, 3));
    cr_assert_eq(seats[0], 3);
    cr_assert_eq(seats[1], 0); // its own is taken; the first that is left
    cr_assert_eq(seats[2], 1);
    const uint32_t small[3] = {4, 1, 2}; // 4 has no slots: 3 keeps the position
    cr_assert(spares_inherit(m, 5, seats, small, needs, 3));
    cr_assert_eq(seats[0], 3);
    m[0].slots = m[3].slots = 0;
    cr_assert(!spares_inherit(m, 5, seats, small, needs, 3));
    cr_assert_eq(seats[0], 3);
}
