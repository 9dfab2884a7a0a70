// DNS questions against a real server on loopback.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "fakedns.h"
#include "hostfile/dns.h"
#include "hostfile/hostname.h"

struct bed {
    struct event_base *base;
    struct fakedns *server;
    struct dns *dns;
    size_t wanted, got;
    enum dns_status status;
    char text[256]; // addresses or names of the last answer
    size_t naddr;
    bool destroy; // the client, from inside the callback
};

static void start(struct bed *b, const char *first_server)
{
    STRV_AUTO servers = STRV_INIT;
    ERR_AUTO err = ERR_INIT;
    memset(b, 0, sizeof *b);
    b->base = loop_create();
    b->server = fakedns_create(b->base);
    if (first_server != NULL)
        strv_add(&servers, first_server);
    strv_add(&servers, fakedns_server(b->server));
    b->dns = dns_create(b->base, &servers, &err);
    cr_assert_not_null(b->dns, "%s", err_text(&err));
}

static void stop(struct bed *b)
{
    dns_destroy(b->dns);
    fakedns_destroy(b->server);
    loop_destroy(b->base);
}

static void on_answer(void *arg, const struct dns_answer *a)
{
    struct bed *b = arg;
    b->status = a->status;
    b->naddr = a->naddr;
    b->text[0] = '\0';
    for (size_t i = 0; i < a->naddr && i < 4; i++) {
        const struct sockaddr_in *in = (const void *)&a->addr[i];
        const struct sockaddr_in6 *in6 = (const void *)&a->addr[i];
        char *end = b->text + strlen(b->text);
        inet_ntop(a->addr[i].ss_family,
                  a->addr[i].ss_family == AF_INET ? (const void *)&in->sin_addr
                                                  : (const void *)&in6->sin6_addr,
                  end, 64);
        strcat(b->text, " ");
    }
    for (size_t i = 0; i < a->names.n; i++) {
        strcat(b->text, a->names.v[i]);
        strcat(b->text, " ");
    }
    if (b->destroy) {
        dns_destroy(b->dns);
        b->dns = NULL;
    }
    if (++b->got >= b->wanted)
        event_base_loopbreak(b->base);
}

static void ask(struct bed *b, const char *name, enum dns_type type)
{
    b->wanted = 1;
    b->got = 0;
    dns_ask(b->dns, name, type, on_answer, b);
    cr_assert_eq(b->got, 0);
    event_base_dispatch(b->base);
    cr_assert_eq(b->got, 1);
}

Test(dns, addresses_in_order_and_reasons, .timeout = 20)
{
    struct bed b;
    start(&b, NULL);
    fakedns_add(b.server, "svc.d", "A", "10.0.0.9");
    fakedns_add(b.server, "svc.d", "A", "10.0.0.10");
    fakedns_add(b.server, "six.d", "AAAA", "fd00::2");
    ask(&b, "svc.d.", DNS_A);
    cr_assert_eq(b.status, DNS_OK);
    cr_assert_str_eq(b.text, "10.0.0.9 10.0.0.10 ");
    ask(&b, "six.d.", DNS_A);
    cr_assert_eq(b.status, DNS_NODATA);
    ask(&b, "six.d.", DNS_AAAA);
    cr_assert_str_eq(b.text, "fd00::2 ");
    ask(&b, "none.d.", DNS_A);
    cr_assert_eq(b.status, DNS_NXDOMAIN);
    cr_assert_str_eq(fakedns_log(b.server), "A svc.d\nA six.d\nAAAA six.d\nA none.d\n");
    fakedns_set_mood(b.server, FAKEDNS_SERVFAIL);
    ask(&b, "svc.d.", DNS_A);
    cr_assert_eq(b.status, DNS_SERVFAIL);
    fakedns_set_mood(b.server, FAKEDNS_REFUSED);
    ask(&b, "svc.d.", DNS_A);
    cr_assert_eq(b.status, DNS_REFUSED);
    stop(&b);
}

Test(dns, nothing_is_cached, .timeout = 20)
{
    struct bed b;
    start(&b, NULL);
    fakedns_add(b.server, "a.d", "A", "10.0.0.1");
    ask(&b, "a.d.", DNS_A);
    fakedns_remove(b.server, "a.d");
    fakedns_add(b.server, "a.d", "A", "10.0.0.2");
    ask(&b, "a.d.", DNS_A);
    cr_assert_str_eq(b.text, "10.0.0.2 ");
    stop(&b);
}

Test(dns, all_names_of_a_reverse_answer, .timeout = 20)
{
    struct bed b;
    struct sockaddr_storage addr;
    start(&b, NULL);
    fakedns_add(b.server, "4.3.2.10.in-addr.arpa", "PTR", "p-0.other.d");
    fakedns_add(b.server, "4.3.2.10.in-addr.arpa", "PTR", "p-0.train.d");
    cr_assert(hostname_literal("10.2.3.4", 8, &addr));
    CLEANUP_FREE char *name = dns_reverse_name(&addr);
    cr_assert_str_eq(name, "4.3.2.10.in-addr.arpa.");
    ask(&b, name, DNS_PTR);
    cr_assert_str_eq(b.text, "p-0.other.d p-0.train.d ");
    cr_assert(hostname_literal("fd00::5", 7, &addr));
    CLEANUP_FREE char *name6 = dns_reverse_name(&addr);
    cr_assert_str_eq(name6,
                     "5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
                     "d.f.ip6.arpa.");
    stop(&b);
}

static void truncated(enum fakedns_mood mood)
{
    struct bed b;
    char addr[32];
    start(&b, NULL);
    for (int i = 0; i < 1000; i++) {
        snprintf(addr, sizeof addr, "10.1.%d.%d", i / 250, i % 250 + 1);
        fakedns_add(b.server, "svc.d", "A", addr);
    }
    fakedns_set_mood(b.server, mood);
    ask(&b, "svc.d.", DNS_A);
    cr_assert_eq(b.status, DNS_OK);
    cr_assert_eq(b.naddr, 1000);
    cr_assert_str_eq(fakedns_log(b.server), "A svc.d\nA/tcp svc.d\n");
    cr_assert_eq(dns_stats(b.dns)->queries, 2);
    cr_assert_eq(dns_stats(b.dns)->truncated, 1);
    cr_assert_eq(dns_stats(b.dns)->answers[DNS_OK], 1);
    cr_assert_gt(dns_stats(b.dns)->good_ms, 0);
    stop(&b);
}

Test(dns, an_empty_truncated_answer_is_asked_over_tcp, .timeout = 20)
{
    truncated(FAKEDNS_TRUNCATED);
}

Test(dns, a_partial_truncated_answer_is_asked_over_tcp, .timeout = 20)
{
    truncated(FAKEDNS_PARTIAL);
}

Test(dns, silence_ends_all_questions_together, .timeout = 30)
{
    struct bed b;
    start(&b, NULL);
    fakedns_set_mood(b.server, FAKEDNS_SILENT);
    uint64_t before = loop_now_ms();
    b.wanted = 1000;
    for (size_t i = 0; i < b.wanted; i++)
        dns_ask(b.dns, "a.d.", DNS_A, on_answer, &b);
    event_base_dispatch(b.base);
    cr_assert_eq(b.got, 1000);
    cr_assert_eq(b.status, DNS_TIMEOUT);
    uint64_t took = loop_now_ms() - before;
    cr_assert(took > 1000 && took < 2 * DNS_SILENCE_MS, "took %lu ms",
              (unsigned long)took);
    stop(&b);
}

Test(dns, the_next_server_is_asked_when_one_fails, .timeout = 20)
{
    struct bed b;
    start(&b, "127.0.0.1:1");
    fakedns_add(b.server, "a.d", "A", "10.0.0.1");
    ask(&b, "a.d.", DNS_A);
    cr_assert_str_eq(b.text, "10.0.0.1 ");
    stop(&b);
    start(&b, NULL);
    struct fakedns *sick = fakedns_create(b.base);
    fakedns_set_mood(sick, FAKEDNS_SERVFAIL);
    STRV_AUTO servers = STRV_INIT;
    strv_add(&servers, fakedns_server(sick));
    strv_add(&servers, fakedns_server(b.server));
    dns_destroy(b.dns);
    b.dns = dns_create(b.base, &servers, NULL);
    fakedns_add(b.server, "a.d", "A", "10.0.0.1");
    ask(&b, "a.d.", DNS_A);
    cr_assert_str_eq(b.text, "10.0.0.1 ");
    fakedns_destroy(sick);
    stop(&b);
}

Test(dns, can_be_destroyed_from_a_callback, .timeout = 20)
{
    struct bed b;
    start(&b, NULL);
    b.destroy = true;
    for (int i = 0; i < 100; i++)
        dns_ask(b.dns, "a.d.", DNS_A, on_answer, &b);
    b.wanted = 1;
    event_base_dispatch(b.base);
    cr_assert_eq(b.got, 1);
    cr_assert_null(b.dns);
    stop(&b);
}

Test(dns, names_that_cannot_be_asked_and_bad_servers, .timeout = 20)
{
    struct bed b;
    STRV_AUTO servers = STRV_INIT;
    ERR_AUTO err = ERR_INIT;
    start(&b, NULL);
    ask(&b, "a..d.", DNS_A);
    cr_assert_eq(b.status, DNS_MALFORMED);
    strv_add(&servers, "not-an-address");
    cr_assert_null(dns_create(b.base, &servers, &err));
    cr_assert_not_null(strstr(err_text(&err), "not-an-address"));
    stop(&b);
}
