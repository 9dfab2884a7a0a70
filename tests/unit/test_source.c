// Sources, from the spec to members with addresses.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/hostname.h"
#include "source_bed.h"

Test(source, local_is_one_member_on_loopback, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    CLEANUP_FREE char *self = hostname_own();
    CLEANUP_FREE char *expected = xasprintf("%s=127.0.0.1", self);
    cr_assert(source_bed_begin(&b, SOURCE_LOCAL, NULL));
    source_bed_expect_first(&b, expected);
    cr_assert_eq(b.members.v[0].port, -1);
    cr_assert_str_eq(fakedns_log(b.server), "");
    source_bed_stop(&b);
}

Test(source, literals_need_no_dns, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    cr_assert(source_bed_begin(&b, SOURCE_HOSTS, "[fd00::1]:2,[fd00::5]"));
    source_bed_expect_first(&b, "fd00::1=fd00::1 fd00::5=fd00::5");
    cr_assert_eq(b.members.v[0].slots, 2);
    cr_assert_eq(b.members.v[1].slots, 1);
    cr_assert_str_eq(fakedns_log(b.server), "");
    source_bed_stop(&b);
}

Test(source, a_hostfile_in_a_pod, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    source_bed_put_file(b.hostfile,
                        "w-0.j.team-a.svc slots=8\nrack7 slots=2\nw-1.j\nw-2.j\n"
                        "localhost\n");
    fakedns_add(b.server, "w-0.j.team-a.svc.kube.local", "A", "10.0.0.1");
    fakedns_add(b.server, "w-1.j.team-a.svc.kube.local", "A", "10.0.0.2");
    fakedns_add(b.server, "w-2.j.team-a.svc.kube.local", "A", "10.0.0.3");
    CLEANUP_FREE char *self = hostname_own();
    CLEANUP_FREE char *hosts = xasprintf("10.7.7.7 rack7\n10.5.5.5 %s\n", self);
    source_bed_put_file(b.hosts_file, hosts);
    cr_assert(source_bed_begin(&b, SOURCE_HOSTFILE, b.hostfile));
    CLEANUP_FREE char *expected = xasprintf(
        "w-0.j.team-a.svc=10.0.0.1 rack7=10.7.7.7 w-1.j=10.0.0.2 w-2.j=10.0.0.3 "
        "%s=10.5.5.5#%s:5:1: localhost means nothing to the other members: it is taken "
        "as "
        "this machine, %s",
        self, b.hostfile, self);
    source_bed_expect_first(&b, expected);
    // One round, absolute names only, the right one first.
    cr_assert_str_eq(fakedns_log(b.server), "A j.team-a.svc.kube.local\n"
                                            "A w-0.j.team-a.svc.kube.local\n"
                                            "A w-1.j.team-a.svc.kube.local\n"
                                            "A w-2.j.team-a.svc.kube.local\n");
    source_bed_stop(&b);
}

Test(source, a_missing_pod_is_named_and_asked_again, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_add(b.server, "train-0." SOURCE_BED_SERVICE, "A", "10.0.0.1");
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "train-[0-1].train"));
    source_bed_expect_first(&b,
                            "train-0.train=10.0.0.1 "
                            "train-1.train!NXDOMAIN (train-1." SOURCE_BED_SERVICE ".)");
    fakedns_set_mood(b.server, FAKEDNS_SERVFAIL);
    while (strstr(b.members.v[1].why, "SERVFAIL") == NULL)
        event_base_dispatch(b.base);
    fakedns_set_mood(b.server, FAKEDNS_GOOD);
    fakedns_add(b.server, "train-1." SOURCE_BED_SERVICE, "A", "10.0.0.2");
    fakedns_clear_log(b.server);
    source_bed_await(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2");
    cr_assert_null(strstr(fakedns_log(b.server), "train-0"), "asked again: %s",
                   fakedns_log(b.server));
    source_bed_stop(&b);
}

Test(source, a_resolv_conf_that_cannot_be_read_is_named, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_destroy(b.server);
    b.server = NULL; // whose address would stand for that of resolv.conf
    strcpy(b.resolv_conf, "/dev/null");
    cr_assert(!source_bed_begin(&b, SOURCE_DNS, "train"));
    cr_assert_not_null(strstr(b.err.text, "/dev/null: HF_NOT_A_FILE"), "%s",
                       b.err.text);
    strcpy(b.resolv_conf, "/no/such/resolv.conf");
    cr_assert(!source_bed_begin(&b, SOURCE_DNS, "train"));
    cr_assert_not_null(strstr(b.err.text, "no nameserver in /no/such/resolv.conf"));
    b.resolv_conf[0] = '\0';
    source_bed_stop(&b);
}

Test(source, a_silent_server_is_named, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_set_mood(b.server, FAKEDNS_SILENT);
    uint64_t before = loop_now_ms();
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "train-[0-299].train"));
    event_base_dispatch(b.base);
    cr_assert_eq(b.members.n, 300);
    cr_assert_not_null(strstr(b.members.v[299].why, "timeout"));
    cr_assert_not_null(strstr(b.members.v[299].why, fakedns_server(b.server)));
    cr_assert_lt(loop_now_ms() - before, 8000);
    source_bed_stop(&b);
}

// One pod, which has been found.
static void begin_one(struct source_bed *b)
{
    source_bed_start(b);
    fakedns_add(b->server, "train-0." SOURCE_BED_SERVICE, "A", "10.0.0.5");
    cr_assert(source_bed_begin(b, SOURCE_PODS, "train-0.train"));
    source_bed_expect_first(b, "train-0.train=10.0.0.5");
}

Test(source, a_recheck_finds_a_replacement, .timeout = 30)
{
    struct source_bed b;
    begin_one(&b);
    // The old pod is still listed beside the new one.
    fakedns_add(b.server, "train-0." SOURCE_BED_SERVICE, "A", "10.0.0.9");
    source_recheck(b.source, "train-0.train");
    source_bed_await(&b, "train-0.train=10.0.0.9");
    fakedns_remove(b.server, "train-0." SOURCE_BED_SERVICE);
    source_recheck(b.source, "train-0.train");
    source_bed_await(&b, "train-0.train!NXDOMAIN (train-0." SOURCE_BED_SERVICE ".)");
    source_bed_stop(&b);
}

// While DNS has the old pod the name is asked in each round, which polls do for one name in
// SOURCE_TURN rounds.
Test(source, a_replacement_that_dns_shows_late_is_found, .timeout = 30)
{
    struct source_bed b;
    begin_one(&b);
    fakedns_clear_log(b.server);
    source_recheck(b.source, "train-0.train");
    source_bed_rounds(&b, 5);
    cr_assert_geq(source_bed_asked(&b, "A train-0." SOURCE_BED_SERVICE), 4);
    fakedns_remove(b.server, "train-0." SOURCE_BED_SERVICE);
    fakedns_add(b.server, "train-0." SOURCE_BED_SERVICE, "A", "10.0.0.9");
    source_bed_await(&b, "train-0.train=10.0.0.9");
    source_bed_stop(&b);
}

static void recheck_again(int fd, short what, void *arg)
{
    struct source_bed *b = arg;
    source_recheck(b->source, "train-0.train");
}

// A round's pause is at least 250 ms.
Test(source, rechecks_without_pause_put_no_round_off, .timeout = 30)
{
    struct source_bed b;
    begin_one(&b);
    fakedns_remove(b.server, "train-0." SOURCE_BED_SERVICE);
    fakedns_add(b.server, "train-0." SOURCE_BED_SERVICE, "A", "10.0.0.9");
    struct event *again = event_new(b.base, -1, EV_PERSIST, recheck_again, &b);
    event_add(again, &(struct timeval){.tv_usec = 50000});
    source_bed_await(&b, "train-0.train=10.0.0.9");
    event_free(again);
    source_bed_stop(&b);
}

Test(source, two_members_with_one_address_are_an_error, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    source_bed_put_file(b.hostfile, "10.44.0.10 slots=4\nllm-0.llm slots=4\n");
    fakedns_add(b.server, "llm-0.llm.team-a.svc.kube.local", "A", "10.44.0.10");
    b.destroy = true;
    cr_assert(source_bed_begin(&b, SOURCE_HOSTFILE, b.hostfile));
    event_base_dispatch(b.base);
    cr_assert(b.failed);
    cr_assert_eq(b.updates, 0);
    cr_assert_str_eq(b.err.kind, "HF_DUP_ADDRESS");
    cr_assert_not_null(strstr(b.err.text, "10.44.0.10 (line 1) and llm-0.llm (line 2)"),
                       "%s", b.err.text);
    source_bed_stop(&b);
}

Test(source, an_address_that_moved_to_another_pod_is_no_error, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_add(b.server, "p-0." SOURCE_BED_SERVICE, "A", "10.0.0.1");
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "p-[0-1].train"));
    source_bed_expect_first(
        &b, "p-0.train=10.0.0.1 p-1.train!NXDOMAIN (p-1." SOURCE_BED_SERVICE ".)");
    fakedns_remove(b.server, "p-0." SOURCE_BED_SERVICE);
    fakedns_add(b.server, "p-0." SOURCE_BED_SERVICE, "A", "10.0.0.2");
    fakedns_add(b.server, "p-1." SOURCE_BED_SERVICE, "A", "10.0.0.1");
    source_bed_await(&b, "p-0.train=10.0.0.2 p-1.train=10.0.0.1");
    cr_assert_not(b.failed);
    source_bed_stop(&b);
}

Test(source, addresses_may_be_shared_where_ports_differ, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    source_bed_put_file(b.hostfile,
                        "127.0.0.1 port=7001\nlocalhost.localdomain port=7002\n");
    cr_assert(source_bed_begin(&b, SOURCE_HOSTFILE, b.hostfile));
    source_bed_expect_first(&b, "127.0.0.1=127.0.0.1 localhost.localdomain=127.0.0.1");
    source_bed_stop(&b);
}

Test(source, a_service_gives_its_pods_in_natural_order, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_add_pod(b.server, SOURCE_BED_SERVICE, "train-10", "10.0.0.1");
    fakedns_add_pod(b.server, SOURCE_BED_SERVICE, "train-2", "10.0.0.2");
    fakedns_add_pod(b.server, SOURCE_BED_SERVICE, "train-1", "10.0.0.3");
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(
        &b, "train-1.train=10.0.0.3 train-2.train=10.0.0.2 train-10.train=10.0.0.1");
    const char *log = fakedns_log(b.server);
    cr_assert_eq(
        strncmp(log, "A " SOURCE_BED_SERVICE "\nPTR ", strlen(SOURCE_BED_SERVICE) + 7),
        0, "%s", log);
    cr_assert_not_null(strstr(log, "AAAA " SOURCE_BED_SERVICE "\n"));
    source_bed_stop(&b);
}

Test(source, a_service_grows_and_shrinks, .timeout = 60)
{
    struct source_bed b;
    source_bed_start(&b);
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train.team-a.svc"));
    source_bed_expect_first(
        &b, "#headless Service train.team-a.svc: NXDOMAIN (" SOURCE_BED_SERVICE ".)");
    fakedns_add_pod(b.server, SOURCE_BED_SERVICE, "train-1", "10.0.0.1");
    source_bed_await(&b, "train-1.train.team-a.svc=10.0.0.1");
    fakedns_clear_log(b.server);
    fakedns_add_pod(b.server, SOURCE_BED_SERVICE, "train-0", "10.0.0.2");
    source_bed_await(
        &b, "train-0.train.team-a.svc=10.0.0.2 train-1.train.team-a.svc=10.0.0.1");
    // Only the new address is asked for its name.
    cr_assert_not_null(strstr(fakedns_log(b.server), "PTR 2.0.0.10"));
    cr_assert_null(strstr(fakedns_log(b.server), "PTR 1.0.0.10"));
    fakedns_remove_value(b.server, "10.0.0.1");
    source_bed_await(&b, "train-0.train.team-a.svc=10.0.0.2");
    source_bed_stop(&b);
}

Test(source, a_lone_wrong_answer_does_not_empty_a_service, .timeout = 60)
{
    struct source_bed b;
    struct source_status status;
    source_bed_start(&b);
    fakedns_add_pod(b.server, SOURCE_BED_SERVICE, "train-0", "10.0.0.1");
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(&b, "train-0.train=10.0.0.1");
    fakedns_remove(b.server, SOURCE_BED_SERVICE);
    do {
        source_bed_rounds(&b, 1);
        source_status(b.source, &status);
    } while (status.last_error[0] == '\0');
    cr_assert_str_eq(status.last_error, "NXDOMAIN (" SOURCE_BED_SERVICE ".)");
    cr_assert_eq(status.addressed, 1);
    fakedns_add(b.server, SOURCE_BED_SERVICE, "A", "10.0.0.1");
    source_bed_rounds(&b, 2);
    cr_assert_eq(b.updates, 1);
    fakedns_remove(b.server, SOURCE_BED_SERVICE);
    source_bed_await(&b, "#headless Service train: NXDOMAIN (" SOURCE_BED_SERVICE ".)");
    source_bed_stop(&b);
}

Test(source, a_pod_and_its_replacement_are_one_member, .timeout = 60)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_add_pod(b.server, SOURCE_BED_SERVICE, "train-0", "10.0.0.5");
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(&b, "train-0.train=10.0.0.5");
    fakedns_add_pod(b.server, SOURCE_BED_SERVICE, "train-0", "10.0.0.1");
    source_bed_await(&b, "train-0.train=10.0.0.1");
    source_bed_stop(&b);
}

Test(source, reverse_names_of_others_name_nobody, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_add(b.server, SOURCE_BED_SERVICE, "A", "10.0.0.10");
    fakedns_add(b.server, SOURCE_BED_SERVICE, "A", "10.0.0.2");
    fakedns_add(b.server, "2.0.0.10.in-addr.arpa", "PTR", "ip-10-0-0-2.node.internal");
    fakedns_add(b.server, "10.0.0.10.in-addr.arpa", "PTR",
                "x." SOURCE_BED_SERVICE ".evil");
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(&b, "10.0.0.2=10.0.0.2 10.0.0.10=10.0.0.10");
    source_bed_stop(&b);
}

Test(source, a_service_with_ipv6_only, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_add(b.server, SOURCE_BED_SERVICE, "AAAA", "fd00::5");
    fakedns_add(
        b.server,
        "5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa",
        "PTR", "train-0." SOURCE_BED_SERVICE);
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(&b, "train-0.train=fd00::5");
    source_bed_stop(&b);
}

Test(source, a_thousand_pods_behind_truncated_answers, .timeout = 60)
{
    struct source_bed b;
    char head[32], addr[32];
    source_bed_start(&b);
    for (int i = 0; i < 500; i++) {
        snprintf(head, sizeof head, "train-%d", i);
        snprintf(addr, sizeof addr, "10.1.%d.%d", i / 250, 250 - i % 250);
        fakedns_add_pod(b.server, SOURCE_BED_SERVICE, head, addr);
    }
    fakedns_set_mood(b.server, FAKEDNS_PARTIAL);
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    event_base_dispatch(b.base);
    cr_assert_eq(b.members.n, 500);
    cr_assert_str_eq(b.members.v[0].name, "train-0.train");
    cr_assert_str_eq(b.members.v[499].name, "train-499.train");
    source_bed_stop(&b);
}

Test(source, can_be_destroyed_from_an_update, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    b.destroy = true;
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "train-[0-9].train"));
    event_base_dispatch(b.base);
    cr_assert_null(b.source);
    b.updates = 0;
    fakedns_add_pod(b.server, SOURCE_BED_SERVICE, "train-0", "10.0.0.5");
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    event_base_dispatch(b.base);
    cr_assert_null(b.source);
    source_bed_stop(&b);
}

Test(source, can_be_destroyed_with_questions_open, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_set_mood(b.server, FAKEDNS_SILENT);
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "train-[0-99].train"));
    while (fakedns_log(b.server)[0] == '\0')
        event_base_loop(b.base, EVLOOP_ONCE);
    source_bed_stop(&b);
}

static void expect_refused(struct source_bed *b, enum source_kind kind,
                           const char *text, const char *kind_word)
{
    cr_assert_not(source_bed_begin(b, kind, text), "%s was taken", text);
    cr_assert_not_null(strstr(err_text(&b->err), kind_word), "%s: %s", text,
                       err_text(&b->err));
}

Test(source, what_cannot_work_is_refused_at_once, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    expect_refused(&b, SOURCE_HOSTFILE, "/no/such/file", "HF_NOT_FOUND");
    expect_refused(&b, SOURCE_HOSTFILE, "/tmp", "HF_NOT_A_FILE");
    source_bed_put_file(b.hostfile, "");
    expect_refused(&b, SOURCE_HOSTFILE, b.hostfile, "HF_EMPTY");
    source_bed_put_file(b.hostfile, "a slots=4\nb lots=4\n");
    expect_refused(&b, SOURCE_HOSTFILE, b.hostfile, ":2:3: HF_UNKNOWN_KEY");
    expect_refused(&b, SOURCE_HOSTS, "a,,b", "--host:3: HF_SYNTAX");
    expect_refused(&b, SOURCE_PODS, "t-[0-", "--pods:6: HF_SYNTAX");
    expect_refused(&b, SOURCE_DNS, "tr ain", "--dns:3: HF_BAD_NAME");
    expect_refused(&b, SOURCE_DNS, "", "HF_BAD_NAME");
    source_bed_stop(&b);
}
