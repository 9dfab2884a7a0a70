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
    // ADDRESS, GREETED, LOST
    static const enum group_state want[GROUP_STATES][GROUP_EVENTS] = {
        [GROUP_MISSING] = {GROUP_FOUND, GROUP_MISSING, GROUP_MISSING},
        [GROUP_FOUND] = {GROUP_FOUND, GROUP_ATTACHED, GROUP_FOUND},
        [GROUP_ATTACHED] = {GROUP_ATTACHED, GROUP_ATTACHED, GROUP_LOST},
        [GROUP_LOST] = {GROUP_LOST, GROUP_ATTACHED, GROUP_LOST},
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
