// Mapping and node names.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/map.h"

static const struct map_member uneven[] = {
    {"a", 8, 0}, {"b", 2, 0}, {"c", 4, 0}, {"d", 1, 0}};

static void expect_position(const struct map *m, uint32_t i, uint32_t member,
                            uint32_t first, uint32_t count)
{
    cr_assert_lt(i, m->npositions);
    cr_assert_eq(m->positions[i].member, member);
    cr_assert_eq(m->positions[i].count, count);
    for (uint32_t k = 0; k < count; k++)
        cr_assert_eq(m->positions[i].ranks[k], first + k);
}

// Case hf-13: world size 15; ranks 0-7, 8-9, 10-13, 14.
Test(map, fills_slots_in_order_of_members)
{
    struct map m;
    struct map_request rq = {0};
    cr_assert_eq(map_ranks(uneven, 4, &rq, &m, NULL), 0);
    cr_assert_eq(m.ranks, 15);
    cr_assert_eq(m.npositions, 4);
    expect_position(&m, 0, 0, 0, 8);
    expect_position(&m, 1, 1, 8, 2);
    expect_position(&m, 2, 2, 10, 4);
    expect_position(&m, 3, 3, 14, 1);
    map_free(&m);
}

Test(map, members_without_ranks_have_no_position)
{
    static const struct map_member members[] = {{"a", 0, 0}, {"b", 2, 0}, {"c", 2, 0}};
    struct map m;
    struct map_request rq = {.ranks = 2};
    cr_assert_eq(map_ranks(members, 3, &rq, &m, NULL), 0);
    cr_assert_eq(m.npositions, 1);
    expect_position(&m, 0, 1, 0, 2);
    map_free(&m);
}

Test(map, ppn_gives_each_member_so_many)
{
    struct map m;
    struct map_request rq = {.ppn = 1};
    cr_assert_eq(map_ranks(uneven, 4, &rq, &m, NULL), 0);
    cr_assert_eq(m.ranks, 4);
    expect_position(&m, 3, 3, 3, 1);
    map_free(&m);
    rq = (struct map_request){.ppn = 2, .ranks = 3};
    cr_assert_eq(map_ranks(uneven, 4, &rq, &m, NULL), 0);
    cr_assert_eq(m.npositions, 2);
    expect_position(&m, 1, 1, 2, 1);
    map_free(&m);
}

Test(map, too_few_slots_name_both_numbers_and_the_option)
{
    ERR_AUTO err = ERR_INIT;
    struct map m;
    struct map_request rq = {.ranks = 16};
    cr_assert_eq(map_ranks(uneven, 4, &rq, &m, &err), -1);
    cr_assert_not_null(strstr(err.text, "16 ranks wanted, 15 slots there"));
    cr_assert_not_null(strstr(err.text, "--oversubscribe"));
    rq = (struct map_request){.ppn = 2};
    cr_assert_eq(map_ranks(uneven, 4, &rq, &m, &err), -1);
    cr_assert_not_null(strstr(err.text, "on d: --ppn wants 2 ranks there, it has 1"));
    rq = (struct map_request){.ppn = 1, .ranks = 5};
    cr_assert_eq(map_ranks(uneven, 4, &rq, &m, &err), -1);
    cr_assert_not_null(strstr(err.text, "needs 5 members, the group has 4"));
}

Test(map, oversubscribed_ranks_go_round)
{
    static const struct map_member members[] = {{"a", 2, 0}, {"b", 0, 0}, {"c", 1, 0}};
    struct map m;
    struct map_request rq = {.ranks = 8, .oversubscribe = true};
    cr_assert_eq(map_ranks(members, 3, &rq, &m, NULL), 0);
    cr_assert_eq(m.ranks, 8);
    cr_assert_eq(m.npositions, 2);
    expect_position(&m, 0, 0, 0, 5);
    expect_position(&m, 1, 2, 5, 3);
    map_free(&m);
}

// `want`: the member of each rank, as letters.
static void expect_members(const struct map_member *members, uint32_t n,
                           const struct map_request *rq, const char *want)
{
    struct map m;
    char got[32] = "";
    cr_assert_eq(map_ranks(members, n, rq, &m, NULL), 0);
    cr_assert_eq(m.ranks, strlen(want));
    for (uint32_t i = 0; i < m.npositions; i++)
        for (uint32_t k = 0; k < m.positions[i].count; k++)
            got[m.positions[i].ranks[k]] = (char)('a' + m.positions[i].member);
    cr_assert_str_eq(got, want);
    map_free(&m);
}

Test(map, by_node_goes_round_the_members)
{
    static const struct map_member two_each[] = {{"a", 2, 0}, {"b", 2, 0}, {"c", 2, 0}};
    struct map_request rq = {.by_node = true};
    expect_members(two_each, 3, &rq, "abcabc");
    rq.ranks = 4;
    expect_members(two_each, 3, &rq, "abca");
    rq.ranks = 2;
    expect_members(two_each, 3, &rq, "ab");
    rq = (struct map_request){.by_node = true, .ppn = 1};
    expect_members(two_each, 3, &rq, "abc");
    rq = (struct map_request){.by_node = true, .ppn = 2, .ranks = 5};
    expect_members(two_each, 3, &rq, "abcab");
}

Test(map, by_node_leaves_full_members_out)
{
    struct map_request rq = {.by_node = true};
    expect_members(uneven, 4, &rq, "abcdabcacacaaaa");
    rq.ranks = 6;
    expect_members(uneven, 4, &rq, "abcdab");
    rq.ranks = 9;
    expect_members(uneven, 4, &rq, "abcdabcac");
    static const struct map_member some[] = {{"a", 0, 0}, {"b", 1, 0}, {"c", 2, 0}};
    rq.ranks = 3;
    expect_members(some, 3, &rq, "bcc");
}

Test(map, by_node_oversubscribes_members_that_have_slots)
{
    static const struct map_member some[] = {{"a", 1, 0}, {"b", 0, 0}, {"c", 2, 0}};
    struct map_request rq = {.by_node = true, .ranks = 5};
    struct map m;
    cr_assert_eq(map_ranks(some, 3, &rq, &m, NULL), -1);
    rq.oversubscribe = true;
    expect_members(some, 3, &rq, "acacc");
}

static void expect_text(const struct map_member *members, uint32_t n,
                        const struct map_request *rq, const char *want)
{
    struct map m;
    cr_assert_eq(map_ranks(members, n, rq, &m, NULL), 0);
    char *text = map_ranks_text(&m.positions[0]);
    cr_assert_str_eq(text, want);
    free(text);
    map_free(&m);
}

Test(map, ranks_of_a_position_in_words)
{
    struct map_request rq = {.ranks = 1};
    expect_text(uneven, 4, &rq, "rank 0");
    rq = (struct map_request){0};
    expect_text(uneven, 4, &rq, "ranks 0-7");
    rq = (struct map_request){.by_node = true, .ranks = 6};
    expect_text(uneven, 4, &rq, "ranks 0, 4");
    rq.ranks = 0;
    expect_text(uneven, 4, &rq, "ranks 0, 4, 7 and 5 more");
}

Test(map, a_member_hosts_at_most_65535_ranks)
{
    static const struct map_member one[] = {{"a", 1, 0}};
    ERR_AUTO err = ERR_INIT;
    struct map m;
    struct map_request rq = {.ranks = 65536, .oversubscribe = true};
    cr_assert_eq(map_ranks(one, 1, &rq, &m, &err), -1);
    cr_assert_not_null(
        strstr(err.text, "65536 ranks on a: a member can host at most 65535"));
    rq.ranks = 65535;
    cr_assert_eq(map_ranks(one, 1, &rq, &m, &err), 0);
    map_free(&m);
}

Test(map, no_slots_and_no_n_is_an_error)
{
    static const struct map_member none[] = {{"a", 0, 0}};
    ERR_AUTO err = ERR_INIT;
    struct map m;
    struct map_request rq = {0};
    cr_assert_eq(map_ranks(none, 1, &rq, &m, &err), -1);
    cr_assert_not_null(strstr(err.text, "-n"));
}

Test(map, node_names_are_hostnames_when_these_differ)
{
    struct map_node nodes[] = {{"train-0", "n0", "10.0.0.1"},
                               {"train-1", "n1", "10.0.0.2"}};
    const char *out[2];
    map_node_names(nodes, 2, out);
    cr_assert_str_eq(out[1], "train-1");
    nodes[1].hostname = "train-0";
    map_node_names(nodes, 2, out);
    cr_assert_str_eq(out[1], "n1");
    nodes[1].name = "a-name-of-fifty-seven-bytes-that-libpmix-cannot-hold-at-a";
    map_node_names(nodes, 2, out);
    cr_assert_str_eq(out[0], "10.0.0.1");
}
