// /etc/hosts, sets of addresses, and the order in which people count.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "hostfile/addrset.h"
#include "hostfile/etchosts.h"
#include "hostfile/hostname.h"
#include "hostfile/hosts_line.h"
#include "hostfile/natural.h"

static void expect(const struct etchosts *h, const char *name, const char *addr)
{
    struct sockaddr_storage want;
    const struct sockaddr_storage *got = etchosts_find(h, name);
    if (addr == NULL) {
        cr_assert_null(got, "%s", name);
        return;
    }
    cr_assert_not_null(got, "%s", name);
    cr_assert(hostname_literal(addr, strlen(addr), &want));
    cr_assert_eq(addrset_compare(got, &want), 0, "%s is not %s", name, addr);
}

Test(etchosts, finds_the_best_address_of_a_name)
{
    const char *text =
        "127.0.0.1\tlocalhost me\n::1 localhost\n# 10.9.9.9 no\n"
        "fd00::1 both\n10.0.0.1 p-0.s.ns.svc.cluster.local P-0 both # c\n"
        "10.0.0.2 me\r\n10.0.0.3 me\n010.0.0.4 bad\n10.0.0.5\n"
        "10.0.0.6 last";
    struct etchosts *h = etchosts_parse(text, strlen(text));
    expect(h, "localhost", "127.0.0.1");
    expect(h, "me", "10.0.0.2");
    expect(h, "p-0", "10.0.0.1");
    expect(h, "P-0.S.ns.svc.cluster.local", "10.0.0.1");
    expect(h, "both", "10.0.0.1");
    expect(h, "no", NULL);
    expect(h, "c", NULL);
    expect(h, "bad", NULL);
    expect(h, "last", "10.0.0.6");
    etchosts_destroy(h);
}

// What muster-sidecar wrote would keep itself true for ever.
Test(etchosts, the_block_of_the_sidecar_is_no_source)
{
    const char *text =
        "127.0.0.1 localhost\n10.0.0.1 a\n" HOSTS_BEGIN "\n"
        "10.0.0.9                                      a kept\n" HOSTS_END "\n"
        "10.0.0.2 b\n";
    struct etchosts *h = etchosts_parse(text, strlen(text));
    expect(h, "a", "10.0.0.1");
    expect(h, "kept", NULL);
    expect(h, "b", "10.0.0.2");
    etchosts_destroy(h);
}

Test(etchosts, a_file_that_is_not_there_is_empty)
{
    struct etchosts *h = etchosts_load("/no/such/hosts");
    expect(h, "localhost", NULL);
    etchosts_destroy(h);
}

Test(etchosts, sixteen_thousand_names_are_found_quickly, .timeout = 10)
{
    BUF_AUTO text = BUF_INIT;
    char name[32];
    for (int i = 0; i < 16384; i++)
        buf_printf(&text, "10.1.%d.%d node-%d\n", i / 256, i % 256, i);
    struct etchosts *h = etchosts_parse((char *)buf_data(&text), buf_len(&text));
    for (int i = 0; i < 16384; i++) {
        snprintf(name, sizeof name, "node-%d", i);
        cr_assert_not_null(etchosts_find(h, name));
    }
    etchosts_destroy(h);
}

static size_t add(struct addrset *s, const char *addr, int port, size_t who)
{
    struct sockaddr_storage a;
    cr_assert(hostname_literal(addr, strlen(addr), &a));
    return addrset_add(s, &a, port, who);
}

Test(addrset, tells_who_has_an_address)
{
    struct addrset *s = addrset_create();
    cr_assert_eq(add(s, "10.0.0.1", -1, 0), 0);
    cr_assert_eq(add(s, "10.0.0.2", -1, 1), 1);
    cr_assert_eq(add(s, "::ffff:10.0.0.1", -1, 2), 0);
    cr_assert_eq(add(s, "10.0.0.1", 22, 3), 3);
    cr_assert_eq(add(s, "fd00::1", -1, 4), 4);
    cr_assert_eq(add(s, "FD00:0::1", -1, 5), 4);
    addrset_destroy(s);
}

Test(natural, counts_as_people_do)
{
    static const char *const ordered[] = {"",
                                          "a",
                                          "n1",
                                          "n01",
                                          "n2",
                                          "n10",
                                          "n010",
                                          "n010a",
                                          "n99999999999999999999998",
                                          "n99999999999999999999999",
                                          "train-2.x",
                                          "train-10.x",
                                          "train-10.y",
                                          "train-x"};
    size_t n = sizeof ordered / sizeof *ordered;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            int order = natural_compare(ordered[i], ordered[j]);
            cr_assert_eq((order > 0) - (order < 0), (i > j) - (i < j), "%s and %s: %d",
                         ordered[i], ordered[j], order);
        }
}
