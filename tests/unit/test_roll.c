// The roll: incarnations, seats and the order of rolls.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

#include "hostfile/roll.h"

static struct roll *three(const char *key, uint32_t term)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    static const char *const names[] = {"train-0", "train-1", "train-2"};
    for (uint32_t i = 0; i < 3; i++) {
        struct member *one = members_add(&m, names[i], strlen(names[i]));
        struct sockaddr_in *a = (void *)&one->addr;
        a->sin_family = AF_INET;
        a->sin_addr.s_addr = htonl(0x0a000001u + i);
        one->port = i == 2 ? 2222 : -1;
    }
    return roll_create(key, term, &m);
}

static const uint8_t first_life[ROLL_INCARNATION_BYTES] = {1};
static const uint8_t second_life[ROLL_INCARNATION_BYTES] = {2};

Test(roll, keeps_source_order_addresses_and_ports)
{
    struct roll *r = three("key", 1);
    cr_assert_eq(r->nmembers, 3);
    cr_assert_str_eq(r->members[1].name, "train-1");
    cr_assert_str_eq(r->members[1].address, "10.0.0.2");
    cr_assert_eq(r->members[1].port, MEMBERS_DEFAULT_PORT);
    cr_assert_eq(r->members[2].port, 2222);
    cr_assert_not(r->members[0].present);
    roll_destroy(r);
}

Test(roll, a_new_incarnation_is_a_new_generation)
{
    struct roll *r = three("key", 1);
    cr_assert(roll_greet(r, 1, first_life, "train-1", 8));
    cr_assert_eq(r->generation, 2);
    cr_assert_not(roll_greet(r, 1, first_life, "train-1", 8));
    cr_assert_eq(r->generation, 2);
    cr_assert(roll_greet(r, 1, second_life, "train-1", 8));
    cr_assert_eq(r->generation, 3);
    cr_assert_str_eq(r->members[1].hostname, "train-1");
    roll_destroy(r);
}

Test(roll, seats_are_distinct_members_or_nothing_changes)
{
    ERR_AUTO err = ERR_INIT;
    struct roll *r = three("key", 1);
    const uint32_t good[] = {2, 0}, twice[] = {1, 1}, beyond[] = {3}, slots[] = {4, 2};
    cr_assert_eq(roll_seat(r, good, slots, 2, &err), 0);
    cr_assert_eq(roll_position_of(r, 2), 0);
    cr_assert_eq(roll_position_of(r, 0), 1);
    cr_assert_eq(roll_position_of(r, 1), -1);
    uint64_t generation = r->generation;
    cr_assert_eq(roll_seat(r, twice, slots, 2, &err), -1);
    cr_assert_not_null(strstr(err.text, "member 1 has another position"));
    cr_assert_eq(roll_seat(r, beyond, slots, 1, &err), -1);
    cr_assert_not_null(strstr(err.text, "member 3 does not exist"));
    cr_assert_eq(r->generation, generation);
    cr_assert_eq(roll_position_of(r, 2), 0);
    roll_destroy(r);
}

Test(roll, is_ordered_by_term_then_generation_within_a_job)
{
    bool comparable;
    struct roll *a = three("key", 1), *b = three("key", 2), *other = three("else", 9);
    cr_assert(
        roll_greet(a, 0, first_life, "h", 1)); // a newer generation of an older term
    cr_assert_lt(roll_compare(a, b, &comparable), 0);
    cr_assert(comparable);
    cr_assert_gt(roll_compare(b, a, &comparable), 0);
    cr_assert_eq(roll_compare(b, b, &comparable), 0);
    cr_assert(roll_greet(b, 0, first_life, "h", 1));
    struct roll *c = three("key", 2);
    cr_assert_lt(roll_compare(c, b, &comparable), 0);
    roll_compare(a, other, &comparable);
    cr_assert_not(comparable);
    roll_destroy(a);
    roll_destroy(b);
    roll_destroy(c);
    roll_destroy(other);
}

Test(roll, members_move_together_as_one_generation)
{
    struct roll *r = three("key", 1);
    const struct roll_move moves[] = {{0, "train-0", "10.0.0.2", -1},
                                      {1, "10.0.0.9", "10.0.0.9", 99}};
    cr_assert(roll_move(r, moves, 2));
    cr_assert_eq(r->generation, 2);
    cr_assert_str_eq(r->members[0].address, "10.0.0.2");
    cr_assert_eq(r->members[0].port, MEMBERS_DEFAULT_PORT);
    cr_assert_str_eq(r->members[1].name, "10.0.0.9");
    cr_assert_eq(r->members[1].port, 99);
    cr_assert_not(roll_move(r, moves, 2));
    cr_assert_eq(r->generation, 2);
    const struct roll_move own = {2, r->members[2].name, "10.0.0.7", -1};
    cr_assert(roll_move(r, &own, 1));
    cr_assert_str_eq(own.name, "train-2"); // still the roll's
    roll_destroy(r);
}

Test(roll, lists_are_all_members_and_those_with_a_position)
{
    struct roll *r = three("key", 1);
    const uint32_t seats[] = {2, 0}, slots[] = {4, 0};
    MEMBERS_AUTO all = MEMBERS_INIT, seated = MEMBERS_INIT;
    cr_assert_eq(roll_seat(r, seats, slots, 2, NULL), 0);
    roll_lists(r, &all, &seated);
    cr_assert_eq(all.n, 3);
    cr_assert_eq(seated.n, 2);
    cr_assert_str_eq(seated.v[0].name, "train-2");
    cr_assert_eq(seated.v[0].slots, 4);
    cr_assert_eq(seated.v[1].slots, -1);
    char at[64];
    members_address(&seated.v[0], at, sizeof at);
    cr_assert_str_eq(at, "10.0.0.3");
    roll_destroy(r);
}
