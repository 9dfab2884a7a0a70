// A hostfile that changes in every way that files do: each change is seen once, and none by
// halves. With inotify the interval is longer than the test: what is seen is seen by it.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/watch.h"
#include "hostfile/follow.h"

struct bed {
    struct event_base *base;
    struct watch *watch;
    struct follow *follow;
    struct event *tick;
    struct source_spec spec;
    char root[32];
    char *dir, *path;
    struct buf seen; // "10.0.0.1 10.0.0.2;10.0.0.3;"
    const char *until;
    bool complaint; // wait for one
};

// ---- the bed ----------------------------------------------------------------------

static void on_update(void *arg, const struct members *m)
{
    struct bed *b = arg;
    for (size_t i = 0; i < m->n; i++)
        buf_printf(&b->seen, "%s%s", i > 0 ? " " : "", m->v[i].name);
    buf_append_str(&b->seen, ";");
}

static void on_failed(void *arg, const struct err *err)
{
    cr_assert_fail("%s", err_text(err));
}

static bool is_reached(struct bed *b)
{
    struct follow_health h;
    follow_health(b->follow, &h);
    if (b->complaint)
        return h.said != NULL;
    size_t n = strlen(b->until);
    return buf_len(&b->seen) >= n &&
           memcmp(buf_data(&b->seen) + buf_len(&b->seen) - n, b->until, n) == 0;
}

static void on_tick(int fd, short what, void *arg)
{
    struct bed *b = arg;
    if (b->until == NULL || is_reached(b))
        event_base_loopbreak(b->base);
    else
        loop_timer_arm(b->tick, 1);
}

// Bounded by the test's timeout.
static void await(struct bed *b, const char *text)
{
    b->until = text;
    loop_timer_arm(b->tick, 0);
    event_base_dispatch(b->base);
}

static void await_complaint(struct bed *b)
{
    b->complaint = true;
    await(b, "");
    b->complaint = false;
}

// Lets it see what there is, for a moment.
static void turn(struct bed *b)
{
    b->until = NULL;
    loop_timer_arm(b->tick, 60);
    event_base_dispatch(b->base);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f, "%s", path);
    fputs(text, f);
    fclose(f);
}

static void make(struct bed *b, bool inotify)
{
    *b = (struct bed){.base = loop_create()};
    strcpy(b->root, "/tmp/muster-test-XXXXXX");
    cr_assert_not_null(mkdtemp(b->root));
    b->dir = xasprintf("%s/dir", b->root);
    b->path = xasprintf("%s/hostfile", b->dir);
    b->watch = inotify ? watch_create(b->base, NULL) : NULL;
    b->tick = loop_timer(b->base, on_tick, b);
    b->spec =
        (struct source_spec){.kind = SOURCE_HOSTFILE, .text = b->path, .slots = -1};
}

static void start(struct bed *b)
{
    ERR_AUTO err = ERR_INIT;
    struct follow_conf conf = {.base = b->base,
                               .watch = b->watch,
                               .spec = &b->spec,
                               .interval_ms = b->watch != NULL ? 600000 : 100,
                               .patient = true,
                               .ops = {on_update, on_failed},
                               .arg = b};
    b->follow = follow_start(&conf, &err);
    cr_assert_not_null(b->follow, "%s", err_text(&err));
}

static void begin(struct bed *b, bool inotify)
{
    make(b, inotify);
    cr_assert_eq(mkdir(b->dir, 0755), 0);
    put(b->path, "10.0.0.1\n");
    start(b);
    await(b, "10.0.0.1;");
}

static void end(struct bed *b, const char *seen)
{
    CLEANUP_FREE char *all = buf_steal_str(&b->seen);
    cr_assert_str_eq(all, seen);
    follow_stop(b->follow);
    watch_destroy(b->watch);
    loop_timer_free(b->tick);
    loop_destroy(b->base);
    CLEANUP_FREE char *remove = xasprintf("rm -r %s", b->root);
    cr_assert_eq(system(remove), 0);
    free(b->dir);
    free(b->path);
}

// ---- ways to change a file --------------------------------------------------------

static void written_in_place(bool inotify)
{
    struct bed b;
    begin(&b, inotify);
    put(b.path, "10.0.0.2\n10.0.0.3\n");
    await(&b, "10.0.0.2 10.0.0.3;");
    put(b.path, "10.0.0.4\n");
    await(&b, "10.0.0.4;");
    end(&b, "10.0.0.1;10.0.0.2 10.0.0.3;10.0.0.4;");
}

static void renamed_as_editors_do(bool inotify)
{
    struct bed b;
    begin(&b, inotify);
    CLEANUP_FREE char *other = xasprintf("%s/.hostfile.swp", b.dir);
    put(other, "10.0.0.2\n");
    cr_assert_eq(rename(other, b.path), 0);
    await(&b, "10.0.0.2;");
    put(b.path, "10.0.0.3\n"); // the new inode, in place
    await(&b, "10.0.0.3;");
    end(&b, "10.0.0.1;10.0.0.2;10.0.0.3;");
}

static void a_volume(const struct bed *b, const char *version, const char *text)
{
    CLEANUP_FREE char *dir = xasprintf("%s/..%s", b->dir, version);
    CLEANUP_FREE char *file = xasprintf("%s/hostfile", dir);
    CLEANUP_FREE char *link = xasprintf("%s/..data", b->dir);
    CLEANUP_FREE char *fresh = xasprintf("%s/..data_tmp", b->dir);
    CLEANUP_FREE char *to = xasprintf("..%s", version);
    cr_assert_eq(mkdir(dir, 0755), 0);
    put(file, text);
    cr_assert_eq(symlink(to, fresh), 0);
    cr_assert_eq(rename(fresh, link), 0);
}

// kubelet's AtomicWriter: ..data changes, the name that users see never does.
static void swapped_as_kubelet_does(bool inotify)
{
    struct bed b;
    make(&b, inotify);
    cr_assert_eq(mkdir(b.dir, 0755), 0);
    a_volume(&b, "v1", "10.0.0.1\n");
    cr_assert_eq(symlink("..data/hostfile", b.path), 0);
    start(&b);
    await(&b, "10.0.0.1;");
    a_volume(&b, "v2", "10.0.0.2\n");
    await(&b, "10.0.0.2;");
    a_volume(&b, "v3", "10.0.0.3\n");
    await(&b, "10.0.0.3;");
    end(&b, "10.0.0.1;10.0.0.2;10.0.0.3;");
}

// PATH leads to another place by one rename, as `ln -sfn` does it.
static void point(const char *path, const char *to)
{
    CLEANUP_FREE char *fresh = xasprintf("%s.new", path);
    cr_assert_eq(symlink(to, fresh), 0);
    cr_assert_eq(rename(fresh, path), 0);
}

// A link in the user's directory, one to a directory elsewhere, and a volume there: whatever
// of these changes is seen.
static void behind_links(bool inotify)
{
    struct bed b;
    make(&b, inotify);
    CLEANUP_FREE char *in_volume = b.path;
    CLEANUP_FREE char *user = xasprintf("%s/user", b.root);
    CLEANUP_FREE char *other = xasprintf("%s/other", b.root);
    CLEANUP_FREE char *aside = xasprintf("%s/aside", b.root);
    CLEANUP_FREE char *file = xasprintf("%s/hostfile", other);
    CLEANUP_FREE char *current = xasprintf("%s/current", b.root);
    b.spec.text = b.path = xasprintf("%s/hosts", user);
    cr_assert(mkdir(b.dir, 0755) == 0 && mkdir(user, 0755) == 0);
    cr_assert_eq(mkdir(other, 0755), 0);
    a_volume(&b, "v1", "10.0.0.1\n");
    put(file, "10.0.0.3\n");
    point(in_volume, "..data/hostfile");
    point(current, b.dir);
    point(b.path, "../current/./hostfile");
    start(&b);
    await(&b, "10.0.0.1;");
    a_volume(&b, "v2", "10.0.0.2\n");
    await(&b, "10.0.0.2;");
    point(current, other);
    await(&b, "10.0.0.3;");
    put(file, "10.0.0.4\n");
    await(&b, "10.0.0.4;");
    // The link itself goes; it leads nowhere; and it is made anew.
    point(b.path, "hosts");
    await_complaint(&b);
    put(file, "10.0.0.5\n");
    cr_assert_eq(unlink(b.path), 0);
    cr_assert_eq(symlink(file, b.path), 0);
    await(&b, "10.0.0.5;");
    // The directory at the end goes, and another one takes its place.
    cr_assert_eq(rename(other, aside), 0);
    await_complaint(&b);
    cr_assert_eq(mkdir(other, 0755), 0);
    put(file, "10.0.0.6\n");
    await(&b, "10.0.0.6;");
    end(&b, "10.0.0.1;10.0.0.2;10.0.0.3;10.0.0.4;10.0.0.5;10.0.0.6;");
}

static void with_its_size_and_time_unchanged(bool inotify)
{
    struct bed b;
    struct stat st;
    begin(&b, inotify);
    cr_assert_eq(stat(b.path, &st), 0);
    put(b.path, "10.0.0.9\n");
    struct timespec times[] = {st.st_atim, st.st_mtim};
    cr_assert_eq(utimensat(AT_FDCWD, b.path, times, 0), 0);
    await(&b, "10.0.0.9;");
    end(&b, "10.0.0.1;10.0.0.9;");
}

static void deleted_and_made_again(bool inotify)
{
    struct bed b;
    struct follow_health h;
    begin(&b, inotify);
    cr_assert_eq(unlink(b.path), 0);
    put(b.path, "10.0.0.2\n");
    await(&b, "10.0.0.2;");
    cr_assert_eq(unlink(b.path), 0);
    await_complaint(&b); // and what was known stays
    follow_health(b.follow, &h);
    cr_assert_not_null(strstr(h.said, "HF_NOT_FOUND"));
    put(b.path, "10.0.0.3\n");
    await(&b, "10.0.0.3;");
    follow_health(b.follow, &h);
    cr_assert_null(h.said);
    cr_assert_eq(h.changes, 3);
    end(&b, "10.0.0.1;10.0.0.2;10.0.0.3;");
}

static void in_a_directory_that_comes_late(bool inotify)
{
    struct bed b;
    struct follow_health h;
    make(&b, inotify);
    start(&b);
    follow_health(b.follow, &h);
    cr_assert_not(h.read);
    cr_assert_not_null(strstr(h.said, "HF_NOT_FOUND"));
    cr_assert_eq(mkdir(b.dir, 0755), 0);
    put(b.path, "10.0.0.1\n");
    await(&b, "10.0.0.1;");
    // The directory itself is made anew, and is watched again.
    CLEANUP_FREE char *aside = xasprintf("%s/aside", b.root);
    cr_assert_eq(unlink(b.path), 0);
    cr_assert_eq(rmdir(b.dir), 0);
    await_complaint(&b);
    cr_assert_eq(mkdir(aside, 0755), 0);
    CLEANUP_FREE char *file = xasprintf("%s/hostfile", aside);
    put(file, "10.0.0.2\n");
    cr_assert_eq(rename(aside, b.dir), 0);
    await(&b, "10.0.0.2;");
    put(b.path, "10.0.0.3\n");
    await(&b, "10.0.0.3;");
    end(&b, "10.0.0.1;10.0.0.2;10.0.0.3;");
}

static void many_times_at_once(bool inotify)
{
    struct bed b;
    begin(&b, inotify);
    for (int i = 0; i < 300; i++) {
        CLEANUP_FREE char *text = xasprintf("10.1.%d.%d\n", i / 250, i % 250 + 1);
        put(b.path, text);
    }
    put(b.path, "10.0.0.2\n");
    await(&b, "10.0.0.2;");
    end(&b, "10.0.0.1;10.0.0.2;");
}

static void badly(bool inotify)
{
    struct bed b;
    struct follow_health h;
    begin(&b, inotify);
    put(b.path, "10.0.0.2 lots=2\n");
    await_complaint(&b);
    follow_health(b.follow, &h);
    cr_assert_not_null(strstr(h.said, "HF_UNKNOWN_KEY"));
    put(b.path, "# written by muster-sidecar from x: changes will be lost\n10.0.0.2\n");
    turn(&b);
    put(b.path, "10.0.0.3\n");
    await(&b, "10.0.0.3;");
    follow_health(b.follow, &h);
    cr_assert_null(h.said);
    end(&b, "10.0.0.1;10.0.0.3;");
}

Test(follow_ways, written_in_place, .timeout = 60)
{
    written_in_place(true);
}

Test(follow_polling, written_in_place, .timeout = 60)
{
    written_in_place(false);
}

Test(follow_ways, renamed_as_editors_do, .timeout = 60)
{
    renamed_as_editors_do(true);
}

Test(follow_polling, renamed_as_editors_do, .timeout = 60)
{
    renamed_as_editors_do(false);
}

Test(follow_ways, swapped_as_kubelet_does, .timeout = 60)
{
    swapped_as_kubelet_does(true);
}

Test(follow_polling, swapped_as_kubelet_does, .timeout = 60)
{
    swapped_as_kubelet_does(false);
}

Test(follow_ways, behind_links, .timeout = 60)
{
    behind_links(true);
}

Test(follow_polling, behind_links, .timeout = 60)
{
    behind_links(false);
}

Test(follow_ways, with_its_size_and_time_unchanged, .timeout = 60)
{
    with_its_size_and_time_unchanged(true);
}

Test(follow_polling, with_its_size_and_time_unchanged, .timeout = 60)
{
    with_its_size_and_time_unchanged(false);
}

Test(follow_ways, deleted_and_made_again, .timeout = 60)
{
    deleted_and_made_again(true);
}

Test(follow_polling, deleted_and_made_again, .timeout = 60)
{
    deleted_and_made_again(false);
}

Test(follow_ways, in_a_directory_that_comes_late, .timeout = 60)
{
    in_a_directory_that_comes_late(true);
}

Test(follow_polling, in_a_directory_that_comes_late, .timeout = 60)
{
    in_a_directory_that_comes_late(false);
}

Test(follow_ways, many_times_at_once, .timeout = 60)
{
    many_times_at_once(true);
}

Test(follow_polling, many_times_at_once, .timeout = 60)
{
    many_times_at_once(false);
}

Test(follow_ways, badly, .timeout = 60)
{
    badly(true);
}

Test(follow_polling, badly, .timeout = 60)
{
    badly(false);
}

// ---- halves -----------------------------------------------------------------------

Test(follow_ways, a_file_that_is_being_written_is_left_alone, .timeout = 60)
{
    struct bed b;
    begin(&b, true);
    int fd = open(b.path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    turn(&b);
    cr_assert_eq(write(fd, "10.0.0.2\n", 9), 9); // a hostfile by itself
    turn(&b);
    CLEANUP_FREE char *beside = xasprintf("%s/other", b.dir);
    put(beside, "x"); // closed, but not ours
    turn(&b);
    cr_assert_eq(write(fd, "10.0.0.3\n", 9), 9);
    turn(&b);
    close(fd);
    await(&b, "10.0.0.2 10.0.0.3;");
    end(&b, "10.0.0.1;10.0.0.2 10.0.0.3;");
}

enum { LINES = 400, CHUNKS = 10, REWRITES = 60 };

// All lines of one version, in chunks; then a moment of quiet.
static void rewrite(const char *path, int version)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    for (int c = 0; c < CHUNKS; c++) {
        BUF_AUTO text = BUF_INIT;
        for (int i = c * LINES / CHUNKS; i < (c + 1) * LINES / CHUNKS; i++)
            buf_printf(&text, "10.%d.%d.%d\n", version, i / 250, i % 250 + 1);
        if (write(fd, buf_data(&text), buf_len(&text)) < 0)
            _exit(1);
        usleep(500);
    }
    close(fd);
    usleep(25000);
}

static size_t check_whole(const char *seen)
{
    size_t n = 0;
    for (const char *at = seen; *at != '\0'; n++) {
        int version = -1, lines = 0;
        const char *end = strchr(at, ';');
        for (; at < end; lines++) {
            int a, b, c, len;
            cr_assert_eq(sscanf(at, "10.%d.%d.%d%n", &a, &b, &c, &len), 3);
            cr_assert(version < 0 || version == a, "a mix of %d and %d", version, a);
            version = a;
            at += len + (at[len] == ' ' ? 1 : 0);
        }
        cr_assert(lines == LINES || (n == 0 && lines == 1), "%d lines", lines);
        at = end + 1;
    }
    return n;
}

Test(follow_ways, what_is_taken_is_never_a_mix, .timeout = 60)
{
    struct bed b;
    begin(&b, true);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 1; i <= REWRITES; i++)
            rewrite(b.path, i);
        put(b.path, "10.0.0.2\n");
        _exit(0);
    }
    await(&b, ";10.0.0.2;");
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0);
    b.seen.end -= strlen("10.0.0.2;");
    CLEANUP_FREE char *seen = buf_steal_str(&b.seen);
    size_t n = check_whole(seen);
    cr_assert(n >= 1 && n <= REWRITES + 1, "%zu texts of %d", n, REWRITES);
    end(&b, "");
}
