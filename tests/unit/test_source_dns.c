// Sources over DNS that fails, lies and changes: what is asked, and what is believed.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/follow.h"
#include "hostfile/source_impl.h"
#include "source_bed.h"

#define SERVICE SOURCE_BED_SERVICE
enum { PODS = 64, QUICK_MS = 50 };

static void add_pods(struct source_bed *b, int n)
{
    char head[32], addr[32];
    for (int i = 0; i < n; i++) {
        snprintf(head, sizeof head, "train-%d", i);
        snprintf(addr, sizeof addr, "10.0.%d.%d", i / 200, i % 200 + 1);
        fakedns_add_pod(b->server, SERVICE, head, addr);
    }
}

static void replace(struct source_bed *b, const char *head, const char *from,
                    const char *to)
{
    char pod[128];
    snprintf(pod, sizeof pod, "%s." SERVICE, head);
    fakedns_remove_value(b->server, from);
    fakedns_remove(b->server, pod);
    fakedns_add_pod(b->server, SERVICE, head, to);
}

static const char *address_of(const struct source_bed *b, size_t i)
{
    static char at[64];
    members_address(&b->members.v[i], at, sizeof at);
    return at;
}

static bool all_have_addresses(const struct source_bed *b)
{
    for (size_t i = 0; i < b->members.n; i++)
        if (b->members.v[i].addr.ss_family == 0)
            return false;
    return b->members.n > 0;
}

// ---- how much is asked ----------------------------------------------------------------

// A bed whose PODS pods are all known, by the Service or by their names, and followed.
static void start_followed(struct source_bed *b, enum source_kind kind)
{
    source_bed_start(b);
    b->poll_ms = QUICK_MS;
    add_pods(b, PODS);
    cr_assert(
        source_bed_begin(b, kind, kind == SOURCE_DNS ? "train" : "train-[0-63].train"));
    while (b->updates == 0 || !all_have_addresses(b))
        event_base_dispatch(b->base);
    cr_assert_eq(b->members.n, PODS);
    source_bed_rounds(b, 1);
    fakedns_clear_log(b->server);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n' ? 1 : 0;
    return n;
}

static void expect_one_question_a_poll(enum source_kind kind)
{
    struct source_bed b;
    start_followed(&b, kind);
    source_bed_rounds(&b, 2 * SOURCE_TURN);
    size_t all = count_lines(fakedns_log(b.server)); // the last may be on its way
    cr_assert(all >= 2 * SOURCE_TURN - 1 && all <= 2 * SOURCE_TURN, "%s",
              fakedns_log(b.server));
    cr_assert_geq(source_bed_asked(&b, "A " SERVICE), all - 2);
    // A replaced pod costs a few more, whatever the number of pods.
    fakedns_clear_log(b.server);
    replace(&b, "train-7", "10.0.0.8", "10.9.9.9");
    while (strcmp(address_of(&b, 7), "10.9.9.9") != 0)
        event_base_dispatch(b.base);
    all = count_lines(fakedns_log(b.server)) - source_bed_asked(&b, "A " SERVICE);
    cr_assert_leq(all, 4 + 1, "%s", fakedns_log(b.server)); // and one in its turn
    source_bed_stop(&b);
}

Test(source_dns, a_service_costs_one_question_a_poll, .timeout = 30)
{
    expect_one_question_a_poll(SOURCE_DNS);
}

Test(source_dns, names_of_one_service_cost_one_question_a_poll, .timeout = 30)
{
    expect_one_question_a_poll(SOURCE_PODS);
}

Test(source_dns, names_of_two_services_cost_two, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    b.poll_ms = QUICK_MS;
    add_pods(&b, 3);
    fakedns_add_pod(b.server, "other.team-a.svc.kube.local", "x-0", "10.0.9.1");
    fakedns_add_pod(b.server, "other.team-a.svc.kube.local", "x-1", "10.0.9.2");
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "train-[0-2].train,x-[0-1].other"));
    source_bed_expect_first(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2 "
                                "train-2.train=10.0.0.3 x-0.other=10.0.9.1 "
                                "x-1.other=10.0.9.2");
    source_bed_rounds(&b, 1);
    fakedns_clear_log(b.server);
    source_bed_rounds(&b, SOURCE_TURN);
    size_t all = count_lines(fakedns_log(b.server));
    cr_assert(all >= 2 * (SOURCE_TURN - 1) && all <= 2 * SOURCE_TURN, "%s",
              fakedns_log(b.server));
    cr_assert_geq(all, source_bed_asked(&b, "A " SERVICE) +
                           source_bed_asked(&b, "A other.team-a.svc.kube.local"));
    source_bed_stop(&b);
}

Test(source_dns, names_without_a_service_are_asked_each, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    b.poll_ms = QUICK_MS;
    fakedns_add(b.server, "n-0." SERVICE, "A", "10.0.0.1");
    fakedns_add(b.server, "n-1." SERVICE, "A", "10.0.0.2");
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "n-[0-1].train"));
    source_bed_expect_first(&b, "n-0.train=10.0.0.1 n-1.train=10.0.0.2");
    fakedns_remove(b.server, "n-1." SERVICE);
    fakedns_add(b.server, "n-1." SERVICE, "A", "10.0.0.3");
    source_bed_await(&b, "n-0.train=10.0.0.1 n-1.train=10.0.0.3");
    source_bed_stop(&b);
}

// dns-17.
Test(source_dns, literals_are_never_asked_for_a_name, .timeout = 20)
{
    struct source_bed b;
    source_bed_start(&b);
    source_bed_put_file(b.hosts_file, "192.0.2.99 fake-host\n");
    source_bed_put_file(b.hostfile, "192.0.2.99 slots=1\n192.0.2.98 slots=1\n");
    cr_assert(source_bed_begin(&b, SOURCE_HOSTFILE, b.hostfile));
    source_bed_expect_first(&b, "192.0.2.99=192.0.2.99 192.0.2.98=192.0.2.98");
    cr_assert_str_eq(fakedns_log(b.server), "");
    source_bed_stop(&b);
}

// ---- what is believed -----------------------------------------------------------------

static const enum fakedns_mood bad_moods[] = {FAKEDNS_SERVFAIL, FAKEDNS_REFUSED,
                                              FAKEDNS_GARBAGE, FAKEDNS_CUT_WITHOUT_TCP};

// What is known stays in every mood, and the status tells of it.
static void expect_bad_moods_change_nothing(enum source_kind kind)
{
    struct source_bed b;
    struct source_status status;
    source_bed_start(&b);
    b.poll_ms = QUICK_MS;
    add_pods(&b, 3);
    const char *all = "train-0.train=10.0.0.1 train-1.train=10.0.0.2 "
                      "train-2.train=10.0.0.3";
    cr_assert(
        source_bed_begin(&b, kind, kind == SOURCE_DNS ? "train" : "train-[0-2].train"));
    source_bed_expect_first(&b, all);
    for (size_t i = 0; i < sizeof bad_moods / sizeof *bad_moods; i++) {
        fakedns_set_mood(b.server, bad_moods[i]);
        source_bed_rounds(&b, 5);
        cr_assert_eq(b.members.n, 3);
        cr_assert(all_have_addresses(&b));
        source_status(b.source, &status);
        cr_assert_neq(status.last_error[0], '\0', "mood %d", bad_moods[i]);
        cr_assert_eq(status.addressed, 3);
    }
    cr_assert_gt(status.dns.answers[DNS_SERVFAIL], 3);
    cr_assert_gt(status.dns.answers[DNS_REFUSED], 3);
    cr_assert_gt(status.dns.truncated, 3);
    cr_assert_geq(status.good_age_ms, QUICK_MS);
    fakedns_set_mood(b.server, FAKEDNS_GOOD);
    source_bed_await(&b, all);
    while (status.last_error[0] != '\0') {
        source_bed_rounds(&b, 1);
        source_status(b.source, &status);
    }
    source_bed_stop(&b);
}

Test(source_dns, bad_servers_do_not_shrink_a_service, .timeout = 60)
{
    expect_bad_moods_change_nothing(SOURCE_DNS);
}

Test(source_dns, bad_servers_do_not_take_addresses_from_names, .timeout = 60)
{
    expect_bad_moods_change_nothing(SOURCE_PODS);
}

// One answer without a pod, one with a pod's old address.
static void expect_lies_change_nothing(enum source_kind kind)
{
    struct source_bed b;
    source_bed_start(&b);
    b.poll_ms = QUICK_MS;
    add_pods(&b, 3);
    cr_assert(
        source_bed_begin(&b, kind, kind == SOURCE_DNS ? "train" : "train-[0-2].train"));
    source_bed_expect_first(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2 "
                                "train-2.train=10.0.0.3");
    replace(&b, "train-1", "10.0.0.2", "10.0.0.9");
    const char *all = "train-0.train=10.0.0.1 train-1.train=10.0.0.9 "
                      "train-2.train=10.0.0.3";
    source_bed_await(&b, all);
    size_t updates = b.updates;
    for (int i = 0; i < 3; i++) {
        replace(&b, "train-1", "10.0.0.9", "10.0.0.2"); // stale
        source_bed_rounds(&b, 2);                       // at most two answers of it
        replace(&b, "train-1", "10.0.0.2", "10.0.0.9");
        source_bed_rounds(&b, 3);
        fakedns_remove_value(b.server, "10.0.0.9"); // NXDOMAIN
        source_bed_rounds(&b, 2);
        fakedns_add(b.server, SERVICE, "A", "10.0.0.9");
        fakedns_add(b.server, "train-1." SERVICE, "A", "10.0.0.9");
        source_bed_rounds(&b, 3);
    }
    cr_assert_eq(b.updates, updates);
    source_bed_stop(&b);
}

Test(source_dns, lies_that_do_not_stay_change_no_service, .timeout = 60)
{
    expect_lies_change_nothing(SOURCE_DNS);
}

Test(source_dns, lies_that_do_not_stay_change_no_names, .timeout = 60)
{
    expect_lies_change_nothing(SOURCE_PODS);
}

Test(source_dns, a_pod_given_another_pods_address_waits, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    b.poll_ms = QUICK_MS;
    add_pods(&b, 2);
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "train-[0-2].train"));
    source_bed_expect_first(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2 "
                                "train-2.train!NXDOMAIN (train-2." SERVICE ".)");
    // An old answer for train-2: the address is train-0's by now.
    fakedns_add(b.server, "train-2." SERVICE, "A", "10.0.0.1");
    source_bed_await(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2 "
                         "train-2.train!its address 10.0.0.1 is that of train-0.train");
    fakedns_remove(b.server, "train-2." SERVICE);
    fakedns_add_pod(b.server, SERVICE, "train-2", "10.0.0.3");
    source_bed_await(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2 "
                         "train-2.train=10.0.0.3");
    cr_assert_not(b.failed);
    source_bed_stop(&b);
}

// Two pods come back at once, and one has the other's address.
Test(source_dns, an_address_that_changes_hands_is_noticed, .timeout = 30)
{
    for (int kind = SOURCE_DNS; kind <= SOURCE_PODS; kind++) {
        struct source_bed b;
        source_bed_start(&b);
        b.poll_ms = QUICK_MS;
        add_pods(&b, 3);
        cr_assert(source_bed_begin(&b, (enum source_kind)kind,
                                   kind == SOURCE_DNS ? "train" : "train-[0-2].train"));
        source_bed_expect_first(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2 "
                                    "train-2.train=10.0.0.3");
        replace(&b, "train-1", "10.0.0.2", "10.0.0.9");
        replace(&b, "train-2", "10.0.0.3", "10.0.0.2");
        fakedns_remove(b.server, "2.0.0.10.in-addr.arpa");
        fakedns_add(b.server, "2.0.0.10.in-addr.arpa", "PTR", "train-2." SERVICE);
        source_bed_await(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.9 "
                             "train-2.train=10.0.0.2");
        source_bed_stop(&b);
    }
}

// train-1 and train-2 change places: the Service lists what it listed all the time.
static void change_places(struct source_bed *b)
{
    static const char *const heads[] = {"train-1", "train-2"};
    static const char *const addresses[] = {"10.0.0.3", "10.0.0.2"};
    static const char *const reverse[] = {"3.0.0.10.in-addr.arpa",
                                          "2.0.0.10.in-addr.arpa"};
    for (int i = 0; i < 2; i++) {
        CLEANUP_FREE char *pod = xasprintf("%s." SERVICE, heads[i]);
        fakedns_remove(b->server, pod);
        fakedns_add(b->server, pod, "A", addresses[i]);
        fakedns_remove(b->server, reverse[i]);
        fakedns_add(b->server, reverse[i], "PTR", pod);
    }
}

static const char places[] = "train-0.train=10.0.0.1 train-1.train=10.0.0.2 "
                             "train-2.train=10.0.0.3";
static const char places_changed[] = "train-0.train=10.0.0.1 train-1.train=10.0.0.3 "
                                     "train-2.train=10.0.0.2";

// With `lost`: a pod is lost then, and that is told.
static void expect_places_to_change(enum source_kind kind, const char *lost,
                                    unsigned most_rounds)
{
    struct source_bed b;
    struct source_status before, after;
    source_bed_start(&b);
    b.poll_ms = QUICK_MS;
    add_pods(&b, 3);
    cr_assert(
        source_bed_begin(&b, kind, kind == SOURCE_DNS ? "train" : "train-[0-2].train"));
    source_bed_expect_first(&b, places);
    source_bed_rounds(&b, 1);
    change_places(&b);
    source_status(b.source, &before);
    if (lost != NULL)
        source_recheck(b.source, lost);
    source_bed_await(&b, places_changed);
    source_status(b.source, &after);
    cr_assert_leq(after.rounds - before.rounds, most_rounds, "%u rounds",
                  (unsigned)(after.rounds - before.rounds));
    cr_assert_not(b.failed);
    source_bed_stop(&b);
}

// Each name has its turn: of three, one of the two comes second at the latest.
Test(source_dns, pods_that_change_places_are_noticed, .timeout = 30)
{
    expect_places_to_change(SOURCE_DNS, NULL, 2 * SOURCE_TURN + 8);
    expect_places_to_change(SOURCE_PODS, NULL, 2 * SOURCE_TURN + 8);
}

Test(source_dns, a_lost_pods_name_is_asked_whatever_its_service_lists, .timeout = 30)
{
    expect_places_to_change(SOURCE_DNS, "train-1.train", 8);
    expect_places_to_change(SOURCE_PODS, "TRAIN-1.train", 8);
}

// Who is lost is asked each time that it is told, and nobody else.
Test(source_dns, a_lost_pod_costs_one_question_each_time, .timeout = 30)
{
    for (int kind = SOURCE_DNS; kind <= SOURCE_PODS; kind++) {
        struct source_bed b;
        start_followed(&b, (enum source_kind)kind);
        for (int i = 0; i < 3; i++) {
            fakedns_clear_log(b.server);
            source_recheck(b.source, "train-7.train");
            source_bed_rounds(&b, 1);
            while (source_bed_asked(&b, "A train-7." SERVICE) < 1)
                event_base_loop(b.base, EVLOOP_ONCE);
            cr_assert_leq(count_lines(fakedns_log(b.server)), 3, "%s",
                          fakedns_log(b.server));
        }
        source_bed_stop(&b);
    }
}

// The Service and its names list the old pod beside the new one, in both orders.
Test(source_dns, a_pod_beside_its_replacement_gives_way, .timeout = 30)
{
    for (int kind = SOURCE_DNS; kind <= SOURCE_PODS; kind++) {
        struct source_bed b;
        source_bed_start(&b);
        b.poll_ms = QUICK_MS;
        fakedns_add_pod(b.server, SERVICE, "train-0", "10.0.0.1");
        fakedns_add_pod(b.server, SERVICE, "train-1", "10.0.0.5");
        cr_assert(source_bed_begin(&b, (enum source_kind)kind,
                                   kind == SOURCE_DNS ? "train" : "train-[0-1].train"));
        source_bed_expect_first(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.5");
        fakedns_add_pod(b.server, SERVICE, "train-1", "10.0.0.2");
        source_bed_await(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2");
        fakedns_add_pod(b.server, SERVICE, "train-0", "10.0.0.8");
        source_bed_await(&b, "train-0.train=10.0.0.8 train-1.train=10.0.0.2");
        size_t updates = b.updates;
        source_bed_rounds(&b, 4);
        cr_assert_eq(b.updates, updates);
        source_bed_stop(&b);
    }
}

// Beside two pods 10.0.0.0, whose reverse lookup gives `name` (NULL: is denied).
static void expect_left_out(struct source_bed *b, const char *name)
{
    struct source_status status;
    source_bed_start(b);
    b->poll_ms = QUICK_MS;
    add_pods(b, 2);
    fakedns_add(b->server, SERVICE, "A", "10.0.0.0");
    if (name != NULL)
        fakedns_add(b->server, "0.0.0.10.in-addr.arpa", "PTR", name);
    cr_assert(source_bed_begin(b, SOURCE_DNS, "train"));
    source_bed_expect_first(b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2");
    source_bed_rounds(b, 6);
    source_status(b->source, &status);
    cr_assert_str_eq(status.last_error, "10.0.0.0 has no name in it: left out");
    cr_assert_eq(b->members.n, 2);
}

// Its reverse lookup is denied, or is that of a pod that went long ago.
Test(source_dns, an_address_without_a_name_is_no_pod_where_others_have_one,
     .timeout = 30)
{
    struct source_bed b;
    expect_left_out(&b, NULL);
    fakedns_add(b.server, "0.0.0.10.in-addr.arpa", "PTR", "train-2." SERVICE);
    source_bed_await(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2 "
                         "train-2.train=10.0.0.0");
    source_bed_stop(&b);
}

// DNS takes any bytes in names: with this one agents would refuse the whole roll.
Test(source_dns, a_reverse_lookup_that_gives_no_host_name_gives_none, .timeout = 30)
{
    struct source_bed b;
    expect_left_out(&b, "train/2." SERVICE);
    source_bed_stop(&b);
}

// A domain of the node's that answers for every name.
Test(source_dns, a_wildcard_domain_never_gives_an_address, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    source_bed_put_file(b.resolv_conf, "search team-a.svc.kube.local svc.kube.local "
                                       "kube.local corp.example\noptions ndots:5\n");
    fakedns_add(b.server, "*.corp.example", "A", "192.0.2.1");
    fakedns_add_pod(b.server, SERVICE, "train-0", "10.0.0.1");
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "train-[0-1].train"));
    source_bed_expect_first(&b, "train-0.train=10.0.0.1 "
                                "train-1.train!NXDOMAIN (train-1." SERVICE ".)");
    source_bed_rounds(&b, 2);
    cr_assert_null(strstr(fakedns_log(b.server), "corp.example"));
    source_bed_stop(&b);
    source_bed_start(&b);
    fakedns_add(b.server, "*.corp.example", "A", "192.0.2.1");
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(&b, "#headless Service train: NXDOMAIN (" SERVICE ".)");
    source_bed_stop(&b);
}

// cfg-05.
Test(source_dns, placeholders_are_no_members, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    add_pods(&b, 1);
    fakedns_add(b.server, SERVICE, "A", "127.0.0.2");
    fakedns_add(b.server, SERVICE, "A", "0.0.0.0");
    fakedns_add(b.server, "train-1." SERVICE, "A", "127.0.0.2");
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(&b, "train-0.train=10.0.0.1");
    source_destroy(b.source);
    b.updates = 0;
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "train-[0-1].train"));
    source_bed_expect_first(&b,
                            "train-0.train=10.0.0.1 train-1.train!DNS has no address "
                            "for train-1." SERVICE ". but loopback or the like");
    source_bed_stop(&b);
}

Test(source_dns, loopback_that_is_written_as_ipv6_is_none_either, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_add_pod(b.server, SERVICE, "train-0", "10.0.0.1");
    fakedns_add(b.server, "train-1." SERVICE, "AAAA", "::ffff:127.0.0.1");
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "train-[0-1].train"));
    source_bed_expect_first(&b,
                            "train-0.train=10.0.0.1 train-1.train!DNS has no address "
                            "for train-1." SERVICE ". but loopback or the like");
    source_bed_stop(&b);
}

// ---- families -------------------------------------------------------------------------

static void add_six(struct source_bed *b, int i)
{
    char head[32], pod[128], addr[32], reverse[128];
    snprintf(head, sizeof head, "train-%d", i);
    snprintf(pod, sizeof pod, "%s." SERVICE, head);
    snprintf(addr, sizeof addr, "fd00::%x", i + 1);
    snprintf(
        reverse, sizeof reverse,
        "%x.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa",
        i + 1);
    fakedns_add(b->server, SERVICE, "AAAA", addr);
    fakedns_add(b->server, pod, "AAAA", addr);
    fakedns_add(b->server, reverse, "PTR", pod);
}

// dns-25: the second pod has both.
Test(source_dns, an_ipv6_pod_brings_all_to_ipv6, .timeout = 30)
{
    for (int kind = SOURCE_DNS; kind <= SOURCE_PODS; kind++) {
        struct source_bed b;
        source_bed_start(&b);
        add_six(&b, 0);
        add_six(&b, 1);
        fakedns_add_pod(b.server, SERVICE, "train-1", "10.0.0.2");
        cr_assert(source_bed_begin(&b, (enum source_kind)kind,
                                   kind == SOURCE_DNS ? "train" : "train-[0-1].train"));
        source_bed_await(&b, "train-0.train=fd00::1 train-1.train=fd00::2");
        // Then one question is enough.
        source_bed_rounds(&b, 1);
        fakedns_clear_log(b.server);
        source_bed_rounds(&b, 2);
        cr_assert_eq(count_lines(fakedns_log(b.server)),
                     source_bed_asked(&b, "AAAA " SERVICE), "%s",
                     fakedns_log(b.server));
        source_bed_stop(&b);
    }
}

Test(source_dns, dual_stack_pods_are_ipv4, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    add_pods(&b, 2);
    add_six(&b, 0);
    add_six(&b, 1);
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2");
    source_bed_stop(&b);
}

Test(source_dns, two_families_are_an_error_that_names_the_members, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    add_pods(&b, 1);
    add_six(&b, 1);
    cr_assert(source_bed_begin(&b, SOURCE_PODS, "train-[0-1].train"));
    event_base_dispatch(b.base);
    cr_assert(b.failed);
    cr_assert_eq(b.updates, 0);
    cr_assert_str_eq(b.err.kind, "FAMILY_MISMATCH");
    cr_assert_not_null(strstr(b.err.text, "IPv4 alone: train-0.train (10.0.0.1); IPv6: "
                                          "train-1.train (fd00::2)"),
                       "%s", b.err.text);
    source_bed_stop(&b);
}

Test(source_dns, a_service_with_two_families_is_a_finding, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    add_pods(&b, 1);
    add_six(&b, 1);
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(
        &b,
        "train-0.train=10.0.0.1#headless Service train: FAMILY_MISMATCH: there is no "
        "address family that all pods have: IPv4 alone: train-0.train; IPv6 alone: "
        "train-1.train: those with IPv4 are taken");
    source_bed_stop(&b);
}

// ---- when ------------------------------------------------------------------------------

Test(source_dns, a_negative_answer_is_obeyed_within_bounds, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    fakedns_set_soa(b.server, 60); // more than SOURCE_RETRY_MAX_MS
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(&b, "#headless Service train: NXDOMAIN (" SERVICE ".)");
    uint64_t before = loop_now_ms();
    source_bed_rounds(&b, 1);
    uint64_t took = loop_now_ms() - before;
    cr_assert_geq(took, 1400, "%lu ms", (unsigned long)took); // without it: 250 ms
    source_bed_stop(&b);
}

// fakedns says 1 s; without a TTL it would be SOURCE_POLL_MAX_MS.
Test(source_dns, a_ttl_is_obeyed, .timeout = 30)
{
    struct source_bed b;
    source_bed_start(&b);
    add_pods(&b, 1);
    cr_assert(source_bed_begin(&b, SOURCE_DNS, "train"));
    source_bed_expect_first(&b, "train-0.train=10.0.0.1");
    uint64_t before = loop_now_ms();
    source_bed_rounds(&b, 2);
    uint64_t took = loop_now_ms() - before;
    cr_assert(took >= 1400 && took < 6000, "%lu ms", (unsigned long)took);
    source_bed_stop(&b);
}

// ---- status -----------------------------------------------------------------------------

static void take_members(void *arg, const struct members *members)
{
    struct source_bed *b = arg;
    members_copy(&b->members, members);
    event_base_loopbreak(b->base);
}

static void refuse_failure(void *arg, const struct err *err)
{
    cr_assert_fail("%s", err_text(err));
}

Test(source_dns, counters_go_on_when_the_hostfile_is_another_one, .timeout = 30)
{
    struct source_bed b;
    struct source_status before, after;
    source_bed_start(&b);
    add_pods(&b, 2);
    source_bed_put_file(b.hostfile, "train-0.train slots=1\n");
    struct source_spec spec = {.kind = SOURCE_HOSTFILE,
                               .text = b.hostfile,
                               .slots = -1,
                               .resolv_conf = b.resolv_conf,
                               .hosts_file = b.hosts_file,
                               .dns_servers = fakedns_server(b.server)};
    struct follow_conf conf = {.base = b.base,
                               .spec = &spec,
                               .interval_ms = QUICK_MS,
                               .ops = {take_members, refuse_failure},
                               .arg = &b};
    struct follow *f = follow_start(&conf, &b.err);
    cr_assert_not_null(f, "%s", err_text(&b.err));
    follow_status(f, &before);
    cr_assert(before.dns.queries == 0 && before.good_age_ms == -1);
    event_base_dispatch(b.base);
    follow_status(f, &before);
    cr_assert(before.dns.queries == 1 && before.rounds == 1 && before.addressed == 1);
    cr_assert_geq(before.good_age_ms, 0);
    source_bed_put_file(b.hostfile, "train-0.train slots=1\ntrain-1.train slots=1\n");
    while (b.members.n < 2)
        event_base_dispatch(b.base);
    follow_status(f, &after);
    cr_assert_geq(after.dns.queries, before.dns.queries + 3); // the Service, both names
    cr_assert_gt(after.rounds, before.rounds);
    cr_assert_eq(after.addressed, 2);
    follow_stop(f);
    source_bed_stop(&b);
}
