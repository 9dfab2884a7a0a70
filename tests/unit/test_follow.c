// Following a hostfile: changes count by content, and each list comes from one read.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/sha256.h"
#include "common/strv.h"
#include "common/watch.h"
#include "hostfile/follow.h"

enum { BOUND_MS = 20000 };

struct bed {
    char dir[64], path[80];
    struct event_base *base;
    struct event *bound;
    struct watch *watch;
    struct source_spec spec;
    struct follow *follow;
    struct strv lists;  // "a,b" of each update
    struct err failure; // failed() was called
    struct err err;     // of the start
    const char *want;   // the list that ends the loop
};

static char *names_of(const struct members *m)
{
    char *all = xstrdup("");
    for (size_t i = 0; i < m->n; i++) {
        char *longer = xasprintf("%s%s%s", all, i > 0 ? "," : "", m->v[i].name);
        free(all);
        all = longer;
    }
    return all;
}

static void on_update(void *arg, const struct members *m)
{
    struct bed *b = arg;
    char *list = names_of(m);
    strv_add_steal(&b->lists, list);
    if (b->want != NULL && strcmp(list, b->want) == 0)
        event_base_loopbreak(b->base);
}

static void on_failed(void *arg, const struct err *err)
{
    struct bed *b = arg;
    err_copy(&b->failure, err);
    event_base_loopbreak(b->base);
}

static void on_bound(int fd, short what, void *arg)
{
    struct bed *b = arg;
    event_base_loopbreak(b->base);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static void begin(struct bed *b, const char *text, bool inotify, uint32_t interval_ms)
{
    *b = (struct bed){.dir = "/tmp/test_follow.XXXXXX"};
    cr_assert_not_null(mkdtemp(b->dir));
    snprintf(b->path, sizeof b->path, "%s/hostfile", b->dir);
    put(b->path, text);
    b->base = loop_create();
    b->bound = loop_timer(b->base, on_bound, b);
    b->watch = inotify ? watch_create(b->base, NULL) : NULL;
    b->spec = (struct source_spec){.kind = SOURCE_HOSTFILE,
                                   .text = b->path,
                                   .slots = -1,
                                   .dns_servers = "127.0.0.1:9"};
    struct follow_conf conf = {.base = b->base,
                               .watch = b->watch,
                               .spec = &b->spec,
                               .interval_ms = interval_ms,
                               .ops = {.update = on_update, .failed = on_failed},
                               .arg = b};
    b->follow = follow_start(&conf, &b->err);
}

static void expect_list(struct bed *b, const char *list)
{
    b->want = list;
    loop_timer_arm(b->bound, BOUND_MS);
    event_base_dispatch(b->base);
    b->want = NULL;
    cr_assert_gt(b->lists.n, 0);
    cr_assert_str_eq(b->lists.v[b->lists.n - 1], list);
}

static void expect_digest(struct bed *b, const char *text)
{
    char digest[SHA256_HEX];
    sha256_hex(text, strlen(text), digest);
    cr_assert_str_eq(follow_digest(b->follow), digest);
}

static void end(struct bed *b)
{
    follow_stop(b->follow);
    watch_destroy(b->watch);
    loop_timer_free(b->bound);
    loop_destroy(b->base);
    unlink(b->path);
    rmdir(b->dir);
    strv_free(&b->lists);
    err_clear(&b->failure);
    err_clear(&b->err);
}

// A new file of that name, with the time of the old one.
static void replace(const struct bed *b, const char *text)
{
    struct stat st;
    CLEANUP_FREE char *next = xasprintf("%s/next", b->dir);
    cr_assert_eq(stat(b->path, &st), 0);
    put(next, text);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    cr_assert_eq(utimensat(AT_FDCWD, next, times, 0), 0);
    cr_assert_eq(rename(next, b->path), 0);
}

// Case cfg-03, with inotify and without: "10.0.0.3" for "10.0.0.2"
Test(follow, same_size_and_time_is_a_change, .timeout = 60)
{
    for (int inotify = 0; inotify < 2; inotify++) {
        struct bed b;
        begin(&b, "10.0.0.1\n10.0.0.2\n", inotify, inotify ? 60000 : 50);
        cr_assert_not_null(b.follow, "%s", err_text(&b.err));
        expect_list(&b, "10.0.0.1,10.0.0.2");
        expect_digest(&b, "10.0.0.1\n10.0.0.2\n");
        replace(&b, "10.0.0.1\n10.0.0.3\n");
        expect_list(&b, "10.0.0.1,10.0.0.3");
        expect_digest(&b, "10.0.0.1\n10.0.0.3\n");
        end(&b);
    }
}

// The same bytes again are none.
Test(follow, the_same_content_is_no_change, .timeout = 60)
{
    struct bed b;
    begin(&b, "10.0.0.1\n", true, 60000);
    expect_list(&b, "10.0.0.1");
    replace(&b, "10.0.0.1\n");
    loop_timer_arm(b.bound, 200); // longer than a change takes to be read
    event_base_dispatch(b.base);
    cr_assert_eq(b.lists.n, 1);
    end(&b);
}

// Case cfg-04: a list replaced while its names are still looked for; what is told is of one read
// or of the other, and its digest says of which.
Test(follow, a_list_is_of_one_read, .timeout = 60)
{
    static const char first[] = "10.0.0.1\na.invalid\n",
                      second[] = "10.0.0.2\n10.0.0.3\n";
    struct bed b;
    begin(&b, first, true, 60000);
    expect_list(&b, "10.0.0.1,a.invalid");
    expect_digest(&b, first);
    replace(&b, second);
    expect_list(&b, "10.0.0.2,10.0.0.3");
    expect_digest(&b, second);
    size_t restarts = 0;
    for (size_t i = 0; i < b.lists.n; i++) {
        bool old = strcmp(b.lists.v[i], "10.0.0.1,a.invalid") == 0;
        restarts += old ? 0 : 1;
        cr_assert(old || strcmp(b.lists.v[i], "10.0.0.2,10.0.0.3") == 0, "a mix: %s",
                  b.lists.v[i]);
    }
    cr_assert_eq(restarts, 1);
    end(&b);
}

// A change that cannot be read keeps what was there, and the digest of it.
Test(follow, a_bad_change_keeps_the_list, .timeout = 60)
{
    struct bed b;
    begin(&b, "10.0.0.1 slots=1\n", true, 60000);
    expect_list(&b, "10.0.0.1");
    replace(&b, "10.0.0.2 slots=x\n");
    loop_timer_arm(b.bound, 200);
    event_base_dispatch(b.base);
    cr_assert_null(b.failure.text);
    cr_assert_eq(b.lists.n, 1);
    expect_digest(&b, "10.0.0.1 slots=1\n");
    put(b.path, "10.0.0.3 slots=1\n");
    expect_list(&b, "10.0.0.3");
    end(&b);
}

Test(follow, an_own_hostfile_is_refused)
{
    struct bed b;
    begin(&b, "# written by muster-sidecar from x: changes will be lost\n10.0.0.1\n",
          true, 60000);
    cr_assert_null(b.follow);
    cr_assert_str_eq(b.err.kind, "HF_OWN_OUTPUT");
    end(&b);
}
