// The hosts file in the loop: locked, healed after others, and names of members in it.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/watch.h"
#include "hostfile/hostname.h"
#include "hostfile/hosts_file.h"
#include "hostfile/hosts_guard.h"
#include "hostfile/hosts_members.h"
#include "hostfile/slurp.h"

#define FOREIGN "127.0.0.1 localhost\n10.1.1.1 other\n"

struct bed {
    struct event_base *base;
    struct watch *watch;
    struct hosts_guard *guard;
    struct event *tick;
    char dir[32], path[64];
    const char *until; // the loop ends when the file has this line
};

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static bool has(const struct bed *b, const char *line)
{
    BUF_AUTO text = BUF_INIT;
    slurp(b->path, &text, NULL);
    buf_append(&text, "", 1);
    return strstr((const char *)buf_data(&text), line) != NULL;
}

static void on_tick(int fd, short what, void *arg)
{
    struct bed *b = arg;
    if (has(b, b->until))
        event_base_loopbreak(b->base);
    else
        loop_timer_arm(b->tick, 1);
}

// Bounded by the test's timeout.
static void await(struct bed *b, const char *line)
{
    b->until = line;
    loop_timer_arm(b->tick, 1);
    event_base_dispatch(b->base);
}

static void start(struct bed *b, bool inotify)
{
    ERR_AUTO err = ERR_INIT;
    memset(b, 0, sizeof *b);
    strcpy(b->dir, "/tmp/muster-test-XXXXXX");
    cr_assert_not_null(mkdtemp(b->dir));
    snprintf(b->path, sizeof b->path, "%s/hosts", b->dir);
    put(b->path, FOREIGN);
    b->base = loop_create();
    b->watch = inotify ? watch_create(b->base, &err) : NULL;
    b->tick = loop_timer(b->base, on_tick, b);
    b->guard = hosts_guard_create(b->base, b->watch, b->path, NULL, &err);
    cr_assert_not_null(b->guard, "%s", err_text(&err));
}

static void stop(struct bed *b)
{
    hosts_guard_destroy(b->guard);
    watch_destroy(b->watch);
    loop_timer_free(b->tick);
    loop_destroy(b->base);
    unlink(b->path);
    rmdir(b->dir);
}

static int set(struct bed *b, const char *address, struct err *err)
{
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    struct sockaddr_storage addr;
    const char *name = "a.b";
    hostname_literal(address, strlen(address), &addr);
    cr_assert_eq(hosts_want_add(&w, &addr, &name, 1, NULL), 0);
    return hosts_guard_set(b->guard, &w, err);
}

static void heals(bool inotify)
{
    struct bed b;
    char other[64];
    start(&b, inotify);
    cr_assert_eq(set(&b, "10.0.0.1", NULL), 0);
    cr_assert(hosts_guard_is_current(b.guard));
    cr_assert(has(&b, FOREIGN));
    cr_assert(has(&b, "10.0.0.1  "));

    put(b.path, "10.2.2.2 new\n"); // truncated and rewritten
    await(&b, "10.0.0.1  ");
    cr_assert(has(&b, "10.2.2.2 new\n"));

    snprintf(other, sizeof other, "%s/other", b.dir); // another inode
    put(other, FOREIGN);
    cr_assert_eq(rename(other, b.path), 0);
    await(&b, "10.0.0.1  ");
    put(b.path, FOREIGN);
    await(&b, "10.0.0.1  ");

    cr_assert_eq(set(&b, "10.0.0.2", NULL), 0);
    await(&b, "10.0.0.2  ");
    cr_assert_not(has(&b, "10.0.0.1  "));
    stop(&b);
}

Test(hosts_guard, heals_what_others_rewrite, .timeout = 30)
{
    heals(true);
}

Test(hosts_guard, heals_without_inotify, .timeout = 30)
{
    heals(false);
}

Test(hosts_guard, a_second_writer_is_refused, .timeout = 30)
{
    struct bed b;
    ERR_AUTO err = ERR_INIT;
    start(&b, true);
    cr_assert_null(hosts_file_open(b.path, &err));
    cr_assert_str_eq(err.kind, "HOSTS_BUSY");
    hosts_guard_destroy(b.guard);
    b.guard = NULL;
    struct hosts_file *f = hosts_file_open(b.path, &err);
    cr_assert_not_null(f);
    hosts_file_close(f);
    stop(&b);
}

Test(hosts_guard, a_file_that_is_gone_is_written_when_it_is_back, .timeout = 30)
{
    struct bed b;
    ERR_AUTO err = ERR_INIT;
    start(&b, true);
    cr_assert_eq(set(&b, "10.0.0.1", &err), 0);
    unlink(b.path);
    cr_assert_eq(set(&b, "10.0.0.2", &err), -1);
    cr_assert_str_eq(err.kind, "HOSTS_NOT_FOUND");
    cr_assert_not(hosts_guard_is_current(b.guard));
    put(b.path, FOREIGN);
    await(&b, "10.0.0.2  ");
    cr_assert(hosts_guard_is_current(b.guard));
    stop(&b);
}

Test(hosts_guard, what_is_no_file_is_refused)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_null(hosts_file_open("/tmp", &err));
    cr_assert_str_eq(err.kind, "HOSTS_NOT_A_FILE");
    cr_assert_null(hosts_file_open("/no/such/hosts", &err));
    cr_assert_str_eq(err.kind, "HOSTS_NOT_FOUND");
}

// ---- names ------------------------------------------------------------------------

static void expect_names(bool pods, const char *const members[][2], size_t n,
                         const char *expected)
{
    static const char conf[] =
        "search ns.svc.kube.local svc.kube.local kube.local\nnameserver 10.9.9.9\n";
    MEMBERS_AUTO m = MEMBERS_INIT;
    HOSTS_WANT_AUTO want = HOSTS_WANT_INIT;
    STRV_AUTO refused = STRV_INIT;
    BUF_AUTO got = BUF_INIT;
    struct resolvconf rc;
    resolvconf_parse(conf, strlen(conf), &rc);
    for (size_t i = 0; i < n; i++) {
        struct member *one = members_add(&m, members[i][0], strlen(members[i][0]));
        if (members[i][1] != NULL)
            hostname_literal(members[i][1], strlen(members[i][1]), &one->addr);
    }
    hosts_members(&m, &rc, pods, &want, &refused);
    for (size_t i = 0; i < want.n; i++)
        buf_printf(&got, "%s=%s;", want.v[i].address, want.v[i].names);
    for (size_t i = 0; i < refused.n; i++)
        buf_printf(&got, "!%.*s;", (int)strcspn(refused.v[i], ":"), refused.v[i]);
    CLEANUP_FREE char *text = buf_steal_str(&got);
    cr_assert_str_eq(text, expected);
    resolvconf_free(&rc);
}

Test(hosts_members, pods_have_their_full_name_and_the_short_one)
{
    static const char *const pods[][2] = {{"p-0.train", "10.0.0.1"},
                                          {"p-1.train.other", "fd00::1"},
                                          {"p-2.train", NULL},
                                          {"p-3.train", "127.0.0.1"}};
    expect_names(
        true, pods, 4,
        "10.0.0.1=p-0.train.ns.svc.kube.local p-0.train p-0;"
        "fd00::1=p-1.train.other.svc.kube.local p-1.train.other p-1;!p-3.train;");
}

Test(hosts_members, short_names_that_are_not_clear_are_left_out)
{
    static const char *const hosts[][2] = {
        {"n.a", "10.0.0.1"}, {"n.b", "10.0.0.2"},      {"m", "10.0.0.3"},
        {"M.b", "10.0.0.4"}, {"10.0.0.5", "10.0.0.5"}, {"k.b.example.com", "10.0.0.6"}};
    expect_names(false, hosts, 6,
                 "10.0.0.1=n.a;10.0.0.2=n.b;10.0.0.3=m;10.0.0.4=M.b;"
                 "10.0.0.6=k.b.example.com k;");
}
