// Twins and families.
#include <criterion/criterion.h>
#include <string.h>

#include "hostfile/claims.h"
#include "hostfile/hostname.h"

enum { MAX = 4 };

struct group {
    struct claim c[MAX];
    struct sockaddr_storage addr[MAX];
    size_t n;
};

static void add(struct group *g, const char *name, const char *address, bool stands)
{
    struct claim *c = &g->c[g->n];
    *c = (struct claim){.name = name, .port = -1, .stands = stands, .fixed = stands};
    if (address[0] != '\0') {
        cr_assert(hostname_literal(address, strlen(address), &g->addr[g->n]));
        c->addr = &g->addr[g->n];
    }
    g->n++;
}

Test(claims, who_had_an_address_keeps_it)
{
    struct group g = {0};
    add(&g, "a", "10.0.0.1", false);
    add(&g, "b", "", false);
    add(&g, "c", "::ffff:10.0.0.1", true);
    cr_assert_eq(claims_find_twins(g.c, g.n), 0);
    cr_assert_eq(g.c[0].twin, 2);
    cr_assert_eq(g.c[1].twin, -1);
    cr_assert_eq(g.c[2].twin, -1);
    g.c[0].port = 7000;
    cr_assert_eq(claims_find_twins(g.c, g.n), -1);
}

Test(claims, the_error_names_both_with_their_lines)
{
    struct group g = {0};
    ERR_AUTO err = ERR_INIT;
    add(&g, "a", "10.0.0.1", false);
    add(&g, "b", "10.0.0.1", false);
    g.c[0].line = 3;
    cr_assert_eq(claims_find_twins(g.c, g.n), 1);
    claims_twin_error(g.c, 1, "hostfile h", &err);
    cr_assert_str_eq(err.text,
                     "hostfile h: HF_DUP_ADDRESS: a (line 3) and b are one host, "
                     "10.0.0.1: keep one of them");
}

Test(claims, families_are_counted_and_named)
{
    struct group g = {0};
    struct claims_families f;
    ERR_AUTO err = ERR_INIT;
    add(&g, "a", "10.0.0.1", false);
    add(&g, "::ffff:10.0.0.2", "::ffff:10.0.0.2", true);
    add(&g, "c", "fd00::3", false);
    add(&g, "d", "", false);
    claims_count(g.c, g.n, &f);
    cr_assert(f.n4 == 2 && f.n6 == 1 && f.fixed4 && !f.fixed6);
    claims_family_error(g.c, g.n, "pods p", &err);
    cr_assert_str_eq(err.kind, "FAMILY_MISMATCH");
    cr_assert_not_null(strstr(err.text, "IPv4 alone: a (10.0.0.1), ::ffff:10.0.0.2; "
                                        "IPv6: c (fd00::3)"),
                       "%s", err.text);
}
