// The members as the launcher sees them.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "launcher/group.h"

static void three(struct group *g)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "train-%d", i);
        struct member *one = members_add(&m, name, strlen(name));
        struct sockaddr_in *a = (void *)&one->addr;
        a->sin_family = i < 2 ? AF_INET : 0;
        a->sin_addr.s_addr = htonl(0x0a000001u + (unsigned)i);
        one->why = i == 2 ? xstrdup("NXDOMAIN") : NULL;
    }
    group_update(g, &m);
}

Test(group, every_event_in_every_state)
{
    // ADDRESS, GREETED, LOST, LATE, MOVED
    static const enum group_state want[GROUP_STATES][GROUP_EVENTS] = {
        [GROUP_MISSING] = {GROUP_FOUND, GROUP_MISSING, GROUP_MISSING, GROUP_LOST,
                           GROUP_MISSING},
        [GROUP_FOUND] = {GROUP_FOUND, GROUP_ATTACHED, GROUP_FOUND, GROUP_LOST,
                         GROUP_FOUND},
        [GROUP_ATTACHED] = {GROUP_ATTACHED, GROUP_ATTACHED, GROUP_LOST, GROUP_ATTACHED,
                            GROUP_LOST},
        [GROUP_LOST] = {GROUP_LOST, GROUP_ATTACHED, GROUP_LOST, GROUP_LOST, GROUP_LOST},
    };
    for (int s = 0; s < GROUP_STATES; s++)
        for (int ev = 0; ev < GROUP_EVENTS; ev++) {
            struct group_member m = {.state = s};
            cr_assert_eq(group_state_next(s, ev), want[s][ev], "%s -- %s",
                         group_state_name(s), group_event_name(ev));
            cr_assert_eq(group_happens(&m, ev), (int)want[s][ev] != s);
            cr_assert_eq(m.state, want[s][ev]);
        }
}

Test(group, counts_found_and_attached)
{
    struct group g = {0};
    three(&g);
    cr_assert_eq(group_found(&g), 2);
    cr_assert_eq(group_attached(&g), 0);
    g.v[0].state = GROUP_ATTACHED;
    cr_assert_eq(group_attached(&g), 1);
    cr_assert_eq(group_found(&g), 2);
    group_free(&g);
}

Test(group, members_change_places_and_nobody_else_does)
{
    struct group g = {0};
    three(&g);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(group_vertex_of(&g, i), i + 1);
        cr_assert_eq(group_member_of(&g, i + 1), i);
    }
    group_exchange(&g, 1, 3); // train-0 to vertex 3
    group_exchange(&g, 3, 2); // and on to 2
    static const uint32_t vertices[] = {2, 3, 1}, members[] = {2, 0, 1};
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(group_vertex_of(&g, i), vertices[i]);
        cr_assert_eq(group_member_of(&g, i + 1), members[i]);
        cr_assert_eq(group_at(&g, i + 1), &g.v[members[i]]);
    }
    group_free(&g);
}

Test(group, what_was_said_of_who_was_at_a_vertex_before_is_told_apart)
{
    struct group g = {0};
    three(&g);
    cr_assert(group_is_current(&g, 1, 0));
    group_exchange(&g, 1, 3);
    group_say(&g, 3, 7);
    group_say(&g, 1, 8);
    cr_assert(group_is_current(&g, 3, 7));
    cr_assert_not(group_is_current(&g, 3, 6));
    cr_assert_not(group_is_current(&g, 1, 7));
    cr_assert(group_is_current(&g, 1, 9));
    cr_assert(group_is_current(&g, 2, 0));
    group_free(&g);
}

Test(group, names_what_is_missing_and_why)
{
    struct group g = {0};
    three(&g);
    BUF_AUTO text = BUF_INIT;
    group_describe_missing(&g, GROUP_FOUND, 3, &text);
    CLEANUP_FREE char *found = buf_steal_str(&text);
    cr_assert_str_eq(found, "train-2: NXDOMAIN");
    group_set_why(&g.v[0], "connection refused");
    group_describe_missing(&g, GROUP_ATTACHED, 2, &text);
    CLEANUP_FREE char *attached = buf_steal_str(&text);
    cr_assert_str_eq(attached, "train-0 (10.0.0.1): connection refused; train-1 "
                               "(10.0.0.2): no answer yet; and 1 more");
    group_free(&g);
}
