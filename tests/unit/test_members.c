// Member lists.
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/localhost.h"
#include "hostfile/members.h"

static struct member *add(struct members *m, const char *name)
{
    return members_add(m, name, strlen(name));
}

Test(members, finds_without_case_and_the_first_of_a_name)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    add(&m, "Rig-A");
    add(&m, "rig-b");
    add(&m, "RIG-B");
    cr_assert_eq(members_find(&m, "rig-a", 5), 0);
    cr_assert_eq(members_find(&m, "RIG-b", 5), 1);
    cr_assert_eq(members_find(&m, "rig", 3), -1);
    cr_assert_eq(members_find(&m, "rig-a.", 6), -1);
}

Test(members, the_index_follows_renames_and_removals)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    add(&m, "a");
    add(&m, "b");
    add(&m, "c");
    members_rename(&m, m.v[1].name, "x");
    cr_assert_eq(members_find(&m, "b", 1), -1);
    members_keep(&m, (bool[]){false, true, true});
    cr_assert_eq(m.n, 2);
    cr_assert_eq(members_find(&m, "x", 1), 0);
    cr_assert_eq(members_find(&m, "c", 1), 1);
    cr_assert_eq(members_find(&m, "a", 1), -1);
}

Test(members, copies_are_equal_until_something_changes)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    MEMBERS_AUTO copy = MEMBERS_INIT;
    add(&m, "a")->why = xstrdup("NXDOMAIN");
    add(&m, "b")->slots = 4;
    strv_add(&m.warnings, "w");
    members_copy(&copy, &m);
    cr_assert(members_equal(&m, &copy));
    cr_assert_eq(copy.warnings.n, 1);
    copy.v[0].why[0] = 'x';
    cr_assert_not(members_equal(&m, &copy));
    copy.v[0].why[0] = 'N';
    hostname_literal("10.1.2.3", 8, &copy.v[1].addr);
    cr_assert_not(members_equal(&m, &copy));
    members_move(&m, &copy);
    cr_assert_eq(copy.n, 0);
    cr_assert_eq(m.v[1].addr.ss_family, AF_INET);
}

Test(members, a_million_names_are_found_in_linear_time, .timeout = 30)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    char name[32];
    for (int i = 0; i < 1000000; i++)
        members_add(&m, name, (size_t)snprintf(name, sizeof name, "node-%d", i));
    for (int i = 0; i < 1000000; i++) {
        size_t len = (size_t)snprintf(name, sizeof name, "NODE-%d", i);
        cr_assert_eq(members_find(&m, name, len), i);
    }
}

Test(members, addresses_are_literals)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    struct member *one = add(&m, "fd00::5");
    char text[64];
    members_address(one, text, sizeof text);
    cr_assert_str_eq(text, "");
    hostname_literal("fd00::5", 7, &one->addr);
    members_address(one, text, sizeof text);
    cr_assert_str_eq(text, "fd00::5");
}

Test(members, localhost_is_renamed_only_among_others)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    ERR_AUTO err = ERR_INIT;
    add(&m, "LocalHost");
    cr_assert_eq(localhost_replace(&m, "pod-0", "F", &err), 0);
    cr_assert_str_eq(m.v[0].name, "LocalHost");
    add(&m, "pod-1");
    cr_assert_eq(localhost_replace(&m, "pod-0", "F", &err), 0);
    cr_assert_str_eq(m.v[0].name, "pod-0");
    cr_assert_eq(m.warnings.n, 1);
    add(&m, "localhost");
    cr_assert_eq(localhost_replace(&m, "pod-1", "F", &err), -1);
    cr_assert_str_eq(err.kind, "HF_DUP_COUNT");
}

Test(hostname, names_are_told_that_are_made_of_addresses)
{
    cr_assert(hostname_is_of_address("10.0.0.1"));
    cr_assert(hostname_is_of_address("10-244-1-5.train.default.svc"));
    cr_assert(hostname_is_of_address("fd00--5.train"));
    cr_assert(!hostname_is_of_address("train-0.train"));
    cr_assert(!hostname_is_of_address("10-244-1-256.train"));
    cr_assert(!hostname_is_of_address("10-244-1.train"));
    cr_assert(!hostname_is_of_address(""));
}

Test(hostname, only_strict_addresses_are_addresses)
{
    static const char *const not [] = {"20260",     "010.1.2.3", "10.1.2", "0x0a.1.2.3",
                                       "10.1.2.3.", "256.1.1.1", "::1%lo", "1.2.3.4.5",
                                       "0xcafe",    "fd00::5:g", ""};
    struct sockaddr_storage a;
    ERR_AUTO err = ERR_INIT;
    struct place at = {.file = "F", .line = 1, .column = 1};
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++) {
        cr_assert_not(hostname_literal(not [i], strlen(not [i]), &a), "%s", not [i]);
        cr_assert_eq(hostname_check(not [i], strlen(not [i]), &at, &err), -1, "%s",
                     not [i]);
        cr_assert_str_eq(err.kind, "HF_BAD_NAME", "%s", not [i]);
    }
    static const char *const good[] = {
        "10.1.2.3", "fd00::5",         "0451-b", "a",         "a_b.c-d.", "node.1",
        "1.2.3.x",  "::ffff:10.0.0.1", "0xg",    "127.0.0.1", "fe80::1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_assert_eq(hostname_check(good[i], strlen(good[i]), &at, &err), 0, "%s: %s",
                     good[i], err_text(&err));
    static const char *const nowhere[] = {"0.0.0.0", "255.255.255.255", "224.0.0.1",
                                          "::", "ff02::1"};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        cr_assert_eq(hostname_check(nowhere[i], strlen(nowhere[i]), &at, &err), -1,
                     "%s", nowhere[i]);
}

Test(members, a_pods_host_name_is_the_head_of_its_name)
{
    cr_assert(hostname_heads("train-1", "train-1.train"));
    cr_assert(hostname_heads("train-1", "train-1"));
    cr_assert_not(hostname_heads("train-1", "train-10.train"));
    cr_assert_not(hostname_heads("train-1.train", "train-1"));
    cr_assert_not(hostname_heads("", ".train"));
    cr_assert_not(hostname_heads("10", "10.0.0.1")); // an address
}

// Readers bound the count of one line: that of many is bounded, too.
Test(members, slots_of_repeats_are_bounded_in_all)
{
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    for (int i = 0; i < 2200; i++) {
        add(&m, "a")->slots = 1000000;
        add(&m, "b")->slots = 1;
    }
    cr_assert_eq(members_merge(&m, "hosts", &err), -1);
    cr_assert_str_eq(err.text,
                     "hosts: HF_BAD_COUNT: a has more than 1000000 slots in all");
}
