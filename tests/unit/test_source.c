// Sources, from the spec to members with addresses.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/loop.h"
#include "common/mem.h"
#include "fakedns.h"
#include "hostfile/hostname.h"
#include "hostfile/source.h"

#define SERVICE "train.team-a.svc.kube.local"

struct bed {
    struct event_base *base;
    struct fakedns *server;
    struct source *source;
    struct members members; // newest
    struct err err;
    size_t updates;
    bool failed, destroy;
    const char *until; // stop when the members read so; NULL: at the first report
    char dir[32];
    char resolv_conf[64], hosts_file[64], hostfile[64];
};

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f, "%s", path);
    fputs(text, f);
    fclose(f);
}

static void start(struct bed *b)
{
    memset(b, 0, sizeof *b);
    b->base = loop_create();
    b->server = fakedns_create(b->base);
    strcpy(b->dir, "/tmp/muster-test-XXXXXX");
    cr_assert_not_null(mkdtemp(b->dir));
    snprintf(b->resolv_conf, sizeof b->resolv_conf, "%s/resolv.conf", b->dir);
    snprintf(b->hosts_file, sizeof b->hosts_file, "%s/hosts", b->dir);
    snprintf(b->hostfile, sizeof b->hostfile, "%s/hostfile", b->dir);
    put_file(
        b->resolv_conf,
        "search team-a.svc.kube.local svc.kube.local kube.local\noptions ndots:5\n");
    put_file(b->hosts_file,
             "127.0.0.1 localhost\n10.7.7.7 rack7\n10.8.8.8 old.train\n");
}

static void stop(struct bed *b)
{
    source_destroy(b->source);
    fakedns_destroy(b->server);
    loop_destroy(b->base);
    members_free(&b->members);
    err_clear(&b->err);
    unlink(b->resolv_conf);
    unlink(b->hosts_file);
    unlink(b->hostfile);
    rmdir(b->dir);
}

// "name=address" or "name!reason" for each, then "#warning" for each.
static char *describe(const struct members *m)
{
    BUF_AUTO out = BUF_INIT;
    for (size_t i = 0; i < m->n; i++) {
        char at[64];
        members_address(&m->v[i], at, sizeof at);
        buf_printf(&out, "%s%s%s%s", i > 0 ? " " : "", m->v[i].name,
                   at[0] != '\0' ? "=" : "!", at[0] != '\0' ? at : m->v[i].why);
    }
    for (size_t i = 0; i < m->warnings.n; i++)
        buf_printf(&out, "#%s", m->warnings.v[i]);
    return buf_steal_str(&out);
}

static void on_update(void *arg, const struct members *members)
{
    struct bed *b = arg;
    cr_assert_not(b->failed);
    members_copy(&b->members, members);
    b->updates++;
    CLEANUP_FREE char *now = describe(members);
    if (b->destroy) {
        source_destroy(b->source);
        b->source = NULL;
    }
    if (b->until == NULL || strcmp(b->until, now) == 0)
        event_base_loopbreak(b->base);
}

static void on_failed(void *arg, const struct err *err)
{
    struct bed *b = arg;
    cr_assert_not(b->failed);
    b->failed = true;
    err_copy(&b->err, err);
    if (b->destroy) {
        source_destroy(b->source);
        b->source = NULL;
    }
    event_base_loopbreak(b->base);
}

static bool begin(struct bed *b, enum source_kind kind, const char *text)
{
    static const struct source_ops ops = {.update = on_update, .failed = on_failed};
    struct source_spec spec = {.kind = kind,
                               .text = text,
                               .slots = -1,
                               .resolv_conf = b->resolv_conf,
                               .hosts_file = b->hosts_file,
                               .dns_servers = fakedns_server(b->server)};
    b->source = source_start(b->base, &spec, &ops, b, NULL, &b->err);
    cr_assert_eq(b->updates, 0);
    return b->source != NULL;
}

// Runs until the members read so (bounded by the test's timeout).
static void await(struct bed *b, const char *until)
{
    CLEANUP_FREE char *now = describe(&b->members);
    b->until = until;
    if (b->updates == 0 || strcmp(now, until) != 0)
        event_base_dispatch(b->base);
}

static void expect_first(struct bed *b, const char *expected)
{
    b->until = NULL;
    event_base_dispatch(b->base);
    CLEANUP_FREE char *got = describe(&b->members);
    cr_assert_str_eq(got, expected, "got %s, expected %s (%s)", got, expected,
                     b->failed ? b->err.text : "no error");
}

Test(source, local_is_one_member_on_loopback, .timeout = 20)
{
    struct bed b;
    start(&b);
    CLEANUP_FREE char *self = hostname_own();
    CLEANUP_FREE char *expected = xasprintf("%s=127.0.0.1", self);
    cr_assert(begin(&b, SOURCE_LOCAL, NULL));
    expect_first(&b, expected);
    cr_assert_eq(b.members.v[0].port, -1);
    cr_assert_str_eq(fakedns_log(b.server), "");
    stop(&b);
}

Test(source, literals_need_no_dns, .timeout = 20)
{
    struct bed b;
    start(&b);
    cr_assert(begin(&b, SOURCE_HOSTS, "10.0.0.1:2,[fd00::5]"));
    expect_first(&b, "10.0.0.1=10.0.0.1 fd00::5=fd00::5");
    cr_assert_eq(b.members.v[0].slots, 2);
    cr_assert_eq(b.members.v[1].slots, 1);
    cr_assert_str_eq(fakedns_log(b.server), "");
    stop(&b);
}

Test(source, a_hostfile_in_a_pod, .timeout = 20)
{
    struct bed b;
    start(&b);
    put_file(b.hostfile, "w-0.j.team-a.svc slots=8\nrack7 slots=2\nw-1.j\nsix.j\n"
                         "localhost\n");
    fakedns_add(b.server, "w-0.j.team-a.svc.kube.local", "A", "10.0.0.1");
    fakedns_add(b.server, "w-1.j.team-a.svc.kube.local", "A", "10.0.0.2");
    fakedns_add(b.server, "six.j.team-a.svc.kube.local", "AAAA", "fd00::6");
    CLEANUP_FREE char *self = hostname_own();
    CLEANUP_FREE char *hosts = xasprintf("10.7.7.7 rack7\n10.5.5.5 %s\n", self);
    put_file(b.hosts_file, hosts);
    cr_assert(begin(&b, SOURCE_HOSTFILE, b.hostfile));
    CLEANUP_FREE char *expected = xasprintf(
        "w-0.j.team-a.svc=10.0.0.1 rack7=10.7.7.7 w-1.j=10.0.0.2 six.j=fd00::6 "
        "%s=10.5.5.5#%s:5:1: localhost means nothing to the other members: it is taken "
        "as "
        "this machine, %s",
        self, b.hostfile, self);
    expect_first(&b, expected);
    // One round, absolute names only, the right one first.
    cr_assert_str_eq(fakedns_log(b.server), "A w-0.j.team-a.svc.kube.local\n"
                                            "A w-1.j.team-a.svc.kube.local\n"
                                            "A six.j.team-a.svc.kube.local\n"
                                            "AAAA six.j.team-a.svc.kube.local\n");
    stop(&b);
}

Test(source, a_missing_pod_is_named_and_asked_again, .timeout = 30)
{
    struct bed b;
    start(&b);
    fakedns_add(b.server, "train-0." SERVICE, "A", "10.0.0.1");
    cr_assert(begin(&b, SOURCE_PODS, "train-[0-1].train"));
    expect_first(&b, "train-0.train=10.0.0.1 "
                     "train-1.train!NXDOMAIN (train-1." SERVICE ".)");
    fakedns_set_mood(b.server, FAKEDNS_SERVFAIL);
    while (strstr(b.members.v[1].why, "SERVFAIL") == NULL)
        event_base_dispatch(b.base);
    fakedns_set_mood(b.server, FAKEDNS_GOOD);
    fakedns_add(b.server, "train-1." SERVICE, "A", "10.0.0.2");
    fakedns_clear_log(b.server);
    await(&b, "train-0.train=10.0.0.1 train-1.train=10.0.0.2");
    cr_assert_null(strstr(fakedns_log(b.server), "train-0"), "asked again: %s",
                   fakedns_log(b.server));
    stop(&b);
}

Test(source, a_silent_server_is_named, .timeout = 30)
{
    struct bed b;
    start(&b);
    fakedns_set_mood(b.server, FAKEDNS_SILENT);
    uint64_t before = loop_now_ms();
    cr_assert(begin(&b, SOURCE_PODS, "train-[0-299].train"));
    event_base_dispatch(b.base);
    cr_assert_eq(b.members.n, 300);
    cr_assert_not_null(strstr(b.members.v[299].why, "timeout"));
    cr_assert_not_null(strstr(b.members.v[299].why, fakedns_server(b.server)));
    cr_assert_lt(loop_now_ms() - before, 8000);
    stop(&b);
}

Test(source, a_recheck_finds_a_replacement, .timeout = 30)
{
    struct bed b;
    start(&b);
    fakedns_add(b.server, "train-0." SERVICE, "A", "10.0.0.5");
    cr_assert(begin(&b, SOURCE_PODS, "train-0.train"));
    expect_first(&b, "train-0.train=10.0.0.5");
    // The old pod is still listed beside the new one.
    fakedns_add(b.server, "train-0." SERVICE, "A", "10.0.0.9");
    source_recheck(b.source);
    await(&b, "train-0.train=10.0.0.9");
    fakedns_remove(b.server, "train-0." SERVICE);
    source_recheck(b.source);
    await(&b, "train-0.train!NXDOMAIN (train-0." SERVICE ".)");
    stop(&b);
}

static void recheck_again(int fd, short what, void *arg)
{
    struct bed *b = arg;
    source_recheck(b->source);
}

// A round's pause is at least 250 ms.
Test(source, rechecks_without_pause_put_no_round_off, .timeout = 30)
{
    struct bed b;
    start(&b);
    fakedns_add(b.server, "train-0." SERVICE, "A", "10.0.0.5");
    cr_assert(begin(&b, SOURCE_PODS, "train-0.train"));
    expect_first(&b, "train-0.train=10.0.0.5");
    fakedns_remove(b.server, "train-0." SERVICE);
    fakedns_add(b.server, "train-0." SERVICE, "A", "10.0.0.9");
    struct event *again = event_new(b.base, -1, EV_PERSIST, recheck_again, &b);
    event_add(again, &(struct timeval){.tv_usec = 50000});
    await(&b, "train-0.train=10.0.0.9");
    event_free(again);
    stop(&b);
}

Test(source, two_members_with_one_address_are_an_error, .timeout = 30)
{
    struct bed b;
    start(&b);
    put_file(b.hostfile, "10.44.0.10 slots=4\nllm-0.llm slots=4\n");
    fakedns_add(b.server, "llm-0.llm.team-a.svc.kube.local", "A", "10.44.0.10");
    b.destroy = true;
    cr_assert(begin(&b, SOURCE_HOSTFILE, b.hostfile));
    event_base_dispatch(b.base);
    cr_assert(b.failed);
    cr_assert_eq(b.updates, 0);
    cr_assert_str_eq(b.err.kind, "HF_DUP_ADDRESS");
    cr_assert_not_null(strstr(b.err.text, "10.44.0.10 (line 1) and llm-0.llm (line 2)"),
                       "%s", b.err.text);
    stop(&b);
}

Test(source, an_address_that_moved_to_another_pod_is_no_error, .timeout = 30)
{
    struct bed b;
    start(&b);
    fakedns_add(b.server, "p-0." SERVICE, "A", "10.0.0.1");
    cr_assert(begin(&b, SOURCE_PODS, "p-[0-1].train"));
    expect_first(&b, "p-0.train=10.0.0.1 p-1.train!NXDOMAIN (p-1." SERVICE ".)");
    fakedns_remove(b.server, "p-0." SERVICE);
    fakedns_add(b.server, "p-0." SERVICE, "A", "10.0.0.2");
    fakedns_add(b.server, "p-1." SERVICE, "A", "10.0.0.1");
    await(&b, "p-0.train=10.0.0.2 p-1.train=10.0.0.1");
    cr_assert_not(b.failed);
    stop(&b);
}

Test(source, addresses_may_be_shared_where_ports_differ, .timeout = 20)
{
    struct bed b;
    start(&b);
    put_file(b.hostfile, "127.0.0.1 port=7001\nlocalhost.localdomain port=7002\n");
    cr_assert(begin(&b, SOURCE_HOSTFILE, b.hostfile));
    expect_first(&b, "127.0.0.1=127.0.0.1 localhost.localdomain=127.0.0.1");
    stop(&b);
}

Test(source, a_service_gives_its_pods_in_natural_order, .timeout = 20)
{
    struct bed b;
    start(&b);
    fakedns_add_pod(b.server, SERVICE, "train-10", "10.0.0.1");
    fakedns_add_pod(b.server, SERVICE, "train-2", "10.0.0.2");
    fakedns_add_pod(b.server, SERVICE, "train-1", "10.0.0.3");
    cr_assert(begin(&b, SOURCE_DNS, "train"));
    expect_first(
        &b, "train-1.train=10.0.0.3 train-2.train=10.0.0.2 train-10.train=10.0.0.1");
    const char *log = fakedns_log(b.server);
    cr_assert_eq(strncmp(log, "A " SERVICE "\nPTR ", strlen(SERVICE) + 7), 0, "%s",
                 log);
    cr_assert_null(strstr(log, "AAAA"));
    stop(&b);
}

Test(source, a_service_grows_and_shrinks, .timeout = 60)
{
    struct bed b;
    start(&b);
    cr_assert(begin(&b, SOURCE_DNS, "train.team-a.svc"));
    expect_first(&b, "#headless Service train.team-a.svc: NXDOMAIN (" SERVICE ".)");
    fakedns_add_pod(b.server, SERVICE, "train-1", "10.0.0.1");
    await(&b, "train-1.train.team-a.svc=10.0.0.1");
    fakedns_clear_log(b.server);
    fakedns_add_pod(b.server, SERVICE, "train-0", "10.0.0.2");
    await(&b, "train-0.train.team-a.svc=10.0.0.2 train-1.train.team-a.svc=10.0.0.1");
    // Only the new address is asked for its name.
    cr_assert_not_null(strstr(fakedns_log(b.server), "PTR 2.0.0.10"));
    cr_assert_null(strstr(fakedns_log(b.server), "PTR 1.0.0.10"));
    fakedns_remove_value(b.server, "10.0.0.1");
    await(&b, "train-0.train.team-a.svc=10.0.0.2");
    stop(&b);
}

Test(source, a_lone_wrong_answer_does_not_empty_a_service, .timeout = 60)
{
    struct bed b;
    start(&b);
    fakedns_add_pod(b.server, SERVICE, "train-0", "10.0.0.1");
    cr_assert(begin(&b, SOURCE_DNS, "train"));
    expect_first(&b, "train-0.train=10.0.0.1");
    fakedns_remove(b.server, SERVICE);
    await(&b, "train-0.train=10.0.0.1#headless Service train: NXDOMAIN (" SERVICE ".)");
    fakedns_add(b.server, SERVICE, "A", "10.0.0.1");
    await(&b, "train-0.train=10.0.0.1");
    fakedns_remove(b.server, SERVICE);
    await(&b, "#headless Service train: NXDOMAIN (" SERVICE ".)");
    stop(&b);
}

Test(source, a_pod_and_its_replacement_are_one_member, .timeout = 60)
{
    struct bed b;
    start(&b);
    fakedns_add_pod(b.server, SERVICE, "train-0", "10.0.0.5");
    cr_assert(begin(&b, SOURCE_DNS, "train"));
    expect_first(&b, "train-0.train=10.0.0.5");
    fakedns_add_pod(b.server, SERVICE, "train-0", "10.0.0.1");
    await(&b, "train-0.train=10.0.0.1");
    stop(&b);
}

Test(source, reverse_names_of_others_name_nobody, .timeout = 20)
{
    struct bed b;
    start(&b);
    fakedns_add(b.server, SERVICE, "A", "10.0.0.10");
    fakedns_add(b.server, SERVICE, "A", "10.0.0.2");
    fakedns_add(b.server, "2.0.0.10.in-addr.arpa", "PTR", "ip-10-0-0-2.node.internal");
    fakedns_add(b.server, "10.0.0.10.in-addr.arpa", "PTR", "x." SERVICE ".evil");
    cr_assert(begin(&b, SOURCE_DNS, "train"));
    expect_first(&b, "10.0.0.2=10.0.0.2 10.0.0.10=10.0.0.10");
    stop(&b);
}

Test(source, a_service_with_ipv6_only, .timeout = 20)
{
    struct bed b;
    start(&b);
    fakedns_add(b.server, SERVICE, "AAAA", "fd00::5");
    fakedns_add(
        b.server,
        "5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa",
        "PTR", "train-0." SERVICE);
    cr_assert(begin(&b, SOURCE_DNS, "train"));
    expect_first(&b, "train-0.train=fd00::5");
    stop(&b);
}

Test(source, a_thousand_pods_behind_truncated_answers, .timeout = 60)
{
    struct bed b;
    char head[32], addr[32];
    start(&b);
    for (int i = 0; i < 500; i++) {
        snprintf(head, sizeof head, "train-%d", i);
        snprintf(addr, sizeof addr, "10.1.%d.%d", i / 250, 250 - i % 250);
        fakedns_add_pod(b.server, SERVICE, head, addr);
    }
    fakedns_set_mood(b.server, FAKEDNS_PARTIAL);
    cr_assert(begin(&b, SOURCE_DNS, "train"));
    event_base_dispatch(b.base);
    cr_assert_eq(b.members.n, 500);
    cr_assert_str_eq(b.members.v[0].name, "train-0.train");
    cr_assert_str_eq(b.members.v[499].name, "train-499.train");
    stop(&b);
}

Test(source, can_be_destroyed_from_an_update, .timeout = 20)
{
    struct bed b;
    start(&b);
    b.destroy = true;
    cr_assert(begin(&b, SOURCE_PODS, "train-[0-9].train"));
    event_base_dispatch(b.base);
    cr_assert_null(b.source);
    b.updates = 0;
    fakedns_add_pod(b.server, SERVICE, "train-0", "10.0.0.5");
    cr_assert(begin(&b, SOURCE_DNS, "train"));
    event_base_dispatch(b.base);
    cr_assert_null(b.source);
    stop(&b);
}

Test(source, can_be_destroyed_with_questions_open, .timeout = 20)
{
    struct bed b;
    start(&b);
    fakedns_set_mood(b.server, FAKEDNS_SILENT);
    cr_assert(begin(&b, SOURCE_PODS, "train-[0-99].train"));
    while (fakedns_log(b.server)[0] == '\0')
        event_base_loop(b.base, EVLOOP_ONCE);
    stop(&b);
}

static void expect_refused(struct bed *b, enum source_kind kind, const char *text,
                           const char *kind_word)
{
    cr_assert_not(begin(b, kind, text), "%s was taken", text);
    cr_assert_not_null(strstr(err_text(&b->err), kind_word), "%s: %s", text,
                       err_text(&b->err));
}

Test(source, what_cannot_work_is_refused_at_once, .timeout = 20)
{
    struct bed b;
    start(&b);
    expect_refused(&b, SOURCE_HOSTFILE, "/no/such/file", "HF_NOT_FOUND");
    expect_refused(&b, SOURCE_HOSTFILE, "/tmp", "HF_NOT_A_FILE");
    put_file(b.hostfile, "");
    expect_refused(&b, SOURCE_HOSTFILE, b.hostfile, "HF_EMPTY");
    put_file(b.hostfile, "a slots=4\nb lots=4\n");
    expect_refused(&b, SOURCE_HOSTFILE, b.hostfile, ":2:3: HF_UNKNOWN_KEY");
    expect_refused(&b, SOURCE_HOSTS, "a,,b", "--host:3: HF_SYNTAX");
    expect_refused(&b, SOURCE_PODS, "t-[0-", "--pods:6: HF_SYNTAX");
    expect_refused(&b, SOURCE_DNS, "tr ain", "--dns:3: HF_BAD_NAME");
    expect_refused(&b, SOURCE_DNS, "", "HF_BAD_NAME");
    stop(&b);
}
