// Which names are asked after an answer of their Service.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/kin.h"

enum { MEMBERS = 8 };

struct group {
    struct kin *kin;
    struct sockaddr_storage held[MEMBERS];
    bool confirmed[MEMBERS];
};

static struct sockaddr_storage address(int last)
{
    struct sockaddr_storage addr = {0};
    char text[32];
    if (last == 0)
        return addr;
    snprintf(text, sizeof text, "10.0.0.%d", last);
    cr_assert(hostname_literal(text, strlen(text), &addr));
    return addr;
}

static const struct sockaddr_storage *held(void *arg, size_t i)
{
    struct group *g = arg;
    return g->held[i].ss_family != 0 ? &g->held[i] : NULL;
}

static const struct sockaddr_storage *confirmed(void *arg, size_t i)
{
    struct group *g = arg;
    return g->confirmed[i] ? held(arg, i) : NULL;
}

static struct kin_view view(struct group *g)
{
    return (struct kin_view){held, confirmed, g};
}

// Members p-0..p-7 with the addresses 10.0.0.N, 0: none.
static void start(struct group *g, const int *addresses)
{
    char name[32];
    memset(g, 0, sizeof *g);
    g->kin = kin_create("svc.d");
    for (size_t i = 0; i < MEMBERS; i++) {
        snprintf(name, sizeof name, "p-%zu.svc", i);
        kin_add(g->kin, i, name);
        g->held[i] = address(addresses[i]);
    }
}

// "0 3 ?7": members 0 and 3 are asked, 10.0.0.7 is to be named.
static char *describe(struct kin_plan *plan)
{
    static char text[256];
    BUF_AUTO b = BUF_INIT;
    for (size_t i = 0; i < plan->nask; i++)
        buf_printf(&b, "%zu ", plan->ask[i]);
    for (size_t i = 0; i < plan->nreverse; i++)
        buf_printf(&b, "?%d ", ((const uint8_t *)&plan->reverse[i])[7]);
    CLEANUP_FREE char *all = buf_steal_str(&b);
    snprintf(text, sizeof text, "%s", all != NULL ? all : "");
    size_t len = strlen(text);
    text[len > 0 ? len - 1 : 0] = '\0';
    kin_plan_free(plan);
    return text;
}

// The Service lists 10.0.0.N for each digit; "": it does not exist.
static char *answer(struct group *g, const char *digits)
{
    struct sockaddr_storage addr[16];
    struct kin_plan plan = {0};
    struct kin_view v = view(g);
    size_t n = strlen(digits);
    for (size_t i = 0; i < n; i++)
        addr[i] = address(digits[i] - '0');
    if (n > 0)
        kin_listed(g->kin, addr, n, &v, &plan);
    else
        kin_gone(g->kin, &v, &plan);
    return describe(&plan);
}

static char *named(struct group *g, const char *head)
{
    struct kin_plan plan = {0};
    struct kin_view v = view(g);
    kin_named(g->kin, head, &v, &plan);
    return describe(&plan);
}

Test(kin, the_first_answer_asks_for_all_that_miss)
{
    struct group g;
    start(&g, (int[MEMBERS]){0});
    cr_assert_str_eq(answer(&g, "12345678"), "0 1 2 3 4 5 6 7");
    kin_destroy(g.kin);
}

Test(kin, nothing_new_asks_for_nobody_in_any_order)
{
    struct group g;
    start(&g, (int[MEMBERS]){1, 2, 3, 4, 5, 6, 7, 8});
    cr_assert_str_eq(answer(&g, "12345678"), "");
    cr_assert_str_eq(answer(&g, "87654321"), "");
    cr_assert_str_eq(answer(&g, "21436587"), "");
    kin_destroy(g.kin);
}

Test(kin, each_has_its_turn)
{
    struct group g;
    start(&g, (int[MEMBERS]){0});
    for (size_t i = 0; i < 2 * MEMBERS; i++)
        cr_assert_eq(kin_turn(g.kin), i % MEMBERS);
    kin_destroy(g.kin);
}

Test(kin, a_replaced_pod_is_asked_alone)
{
    struct group g;
    start(&g, (int[MEMBERS]){1, 2, 3, 4, 5, 6, 7, 8});
    answer(&g, "12345678");
    // Its old address is not listed any more; the new one is named, which adds nobody.
    cr_assert_str_eq(answer(&g, "12945678"), "2 ?9");
    cr_assert_str_eq(named(&g, "p-2"), "");
    g.held[2] = address(9);
    cr_assert_str_eq(answer(&g, "12945678"), "");
    kin_destroy(g.kin);
}

Test(kin, a_pod_that_stands_beside_its_replacement_is_found_by_its_name)
{
    struct group g;
    start(&g, (int[MEMBERS]){1, 2, 3, 4, 5, 6, 7, 8});
    answer(&g, "12345678");
    cr_assert_str_eq(answer(&g, "123456789"), "?9");
    cr_assert_str_eq(named(&g, "P-5"), "5");
    // Another Service's pod, or the launcher's.
    cr_assert_str_eq(named(&g, "launcher"), "");
    // It has no name: any of them may have changed.
    cr_assert_str_eq(named(&g, NULL), "0 1 2 3 4 6 7");
    kin_destroy(g.kin);
}

Test(kin, few_new_addresses_among_many_that_miss_are_named)
{
    struct group g;
    start(&g, (int[MEMBERS]){1, 2, 0, 0, 0, 0, 0, 0});
    cr_assert_str_eq(answer(&g, "12"), "2 3 4 5 6 7");
    // Some are asked in turn though nothing changed.
    cr_assert_str_eq(answer(&g, "12"), "6 7 2 3");
    cr_assert_str_eq(answer(&g, "12"), "4 5 6 7");
    cr_assert_str_eq(answer(&g, "124"), "2 3 4 5 ?4");
    cr_assert_str_eq(named(&g, "p-7"), "7");
    g.held[7] = address(4);
    // As many new addresses as half of what misses: the names are asked straight away.
    cr_assert_str_eq(answer(&g, "1245678"), "6 2 3 4 5");
    kin_destroy(g.kin);
}

Test(kin, a_service_that_is_gone_is_believed_late)
{
    struct group g;
    start(&g, (int[MEMBERS]){1, 2, 3, 4, 5, 6, 7, 8});
    answer(&g, "12345678");
    cr_assert_str_eq(answer(&g, ""), "");
    cr_assert_str_eq(answer(&g, ""), "");
    cr_assert_str_eq(answer(&g, "12345678"), "");
    answer(&g, "");
    answer(&g, "");
    cr_assert_str_eq(answer(&g, ""), "0 1 2 3 4 5 6 7");
    kin_destroy(g.kin);
}

Test(kin, names_that_a_service_does_not_list_are_apart_for_a_while)
{
    struct group g;
    struct kin_view v = view(&g);
    start(&g, (int[MEMBERS]){0});
    cr_assert_str_eq(answer(&g, ""), "0 1 2 3 4 5 6 7");
    cr_assert_not(kin_settle(g.kin, &v));
    g.held[1] = address(4);
    g.confirmed[1] = true;
    cr_assert(kin_settle(g.kin, &v));
    for (int i = 1; i < KIN_APART_ROUNDS; i++)
        cr_assert(kin_is_apart(g.kin));
    cr_assert_not(kin_is_apart(g.kin));
    answer(&g, "4");
    cr_assert_not(kin_settle(g.kin, &v));
    cr_assert_not(kin_is_apart(g.kin));
    kin_destroy(g.kin);
}
