// The program of --on-change: one at a time, bounded, reaped.
#include <criterion/criterion.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/members.h"
#include "hostfile/slurp.h"
#include "sidecar/hook.h"

struct bed {
    struct event_base *base;
    struct hook *hook;
    struct log *log;
    struct event *tick;
    char dir[32];
    char *program, *out, *logged;
    int log_fd;
    const char *until; // the loop ends when `out` has this text
    uint64_t failures; // ... and there are so many
    uint64_t generation;
};

static char *read_file(const char *path)
{
    BUF_AUTO text = BUF_INIT;
    slurp(path, &text, NULL);
    return buf_steal_str(&text);
}

static void on_tick(int fd, short what, void *arg)
{
    struct bed *b = arg;
    struct hook_status s;
    CLEANUP_FREE char *out = read_file(b->out);
    hook_status(b->hook, &s);
    if (strstr(out, b->until) != NULL && s.failures >= b->failures)
        event_base_loopbreak(b->base);
    else
        loop_timer_arm(b->tick, 2);
}

// Bounded by the test's timeout.
static void await(struct bed *b, const char *text, uint64_t failures)
{
    b->until = text;
    b->failures = failures;
    loop_timer_arm(b->tick, 0);
    event_base_dispatch(b->base);
}

static bool is_idle(const struct bed *b)
{
    struct hook_status s;
    hook_status(b->hook, &s);
    return !s.running;
}

static void await_idle(struct bed *b)
{
    while (!is_idle(b))
        event_base_loop(b->base, EVLOOP_ONCE);
}

static void start(struct bed *b, const char *script, uint32_t limit_ms)
{
    ERR_AUTO err = ERR_INIT;
    *b = (struct bed){.base = loop_create()};
    strcpy(b->dir, "/tmp/muster-test-XXXXXX");
    cr_assert_not_null(mkdtemp(b->dir));
    b->program = xasprintf("%s/program", b->dir);
    b->out = xasprintf("%s/out", b->dir);
    b->logged = xasprintf("%s/log", b->dir);
    FILE *f = fopen(b->program, "w");
    fprintf(f, "#!/bin/sh\ncd %s\n%s\n", b->dir, script);
    fclose(f);
    cr_assert_eq(chmod(b->program, 0755), 0);
    b->log_fd = open(b->logged, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    b->log = log_create(b->log_fd, "t", LOG_LEVEL_INFO);
    b->tick = loop_timer(b->base, on_tick, b);
    struct hook_conf conf = {
        .base = b->base, .log = b->log, .program = b->program, .limit_ms = limit_ms};
    b->hook = hook_create(&conf, &err);
    cr_assert_not_null(b->hook, "%s", err_text(&err));
}

static void stop(struct bed *b)
{
    hook_destroy(b->hook);
    loop_timer_free(b->tick);
    log_destroy(b->log);
    loop_destroy(b->base);
    close(b->log_fd);
    CLEANUP_FREE char *remove = xasprintf("rm -r %s", b->dir);
    cr_assert_eq(system(remove), 0);
    free(b->program);
    free(b->out);
    free(b->logged);
}

static void tell(struct bed *b, const char *address)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    struct member *one = members_add(&m, "a", 1);
    hostname_literal(address, strlen(address), &one->addr);
    hook_tell(b->hook, &m, ++b->generation);
}

static void expect_log(const struct bed *b, const char *text)
{
    CLEANUP_FREE char *log = read_file(b->logged);
    cr_assert_not_null(strstr(log, text), "%s", log);
}

Test(hook, gets_the_difference_and_its_output_is_logged, .timeout = 60)
{
    struct bed b;
    struct hook_status s;
    start(&b, "cat >out; echo hello $MUSTER_ADDED; echo there >&2; printf end", 30000);
    tell(&b, "10.0.0.1");
    await(&b, "\"added\":[{\"name\":\"a\",\"address\":\"10.0.0.1\"}]", 0);
    await_idle(&b);
    expect_log(&b, "hello 1\n");
    expect_log(&b, "there\n");
    expect_log(&b, "program: end\n");
    hook_status(b.hook, &s);
    cr_assert_eq(s.runs, 1);
    cr_assert_eq(s.failures, 0);
    cr_assert_eq(s.generation, 1);
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
    cr_assert_eq(errno, ECHILD); // it was reaped
    stop(&b);
}

Test(hook, what_changes_while_it_runs_is_one_difference, .timeout = 60)
{
    struct bed b;
    struct hook_status s;
    start(&b, "cat >>out; while [ ! -e go ]; do sleep 0.01; done", 60000);
    tell(&b, "10.0.0.1");
    await(&b, "10.0.0.1", 0);
    for (int i = 2; i < 9; i++) {
        char address[] = "10.0.0.0";
        address[7] = (char)('0' + i);
        tell(&b, address);
    }
    CLEANUP_FREE char *go = xasprintf("%s/go", b.dir);
    close(open(go, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    await(&b,
          "\"changed\":[{\"name\":\"a\",\"old\":\"10.0.0.1\",\"new\":\"10.0.0.8\"}]",
          0);
    await_idle(&b);
    hook_status(b.hook, &s);
    cr_assert_eq(s.runs, 2);
    cr_assert_eq(s.generation, 8);
    tell(&b, "10.0.0.8"); // another generation, the same members
    cr_assert(is_idle(&b));
    stop(&b);
}

Test(hook, a_failure_is_logged_and_counted, .timeout = 60)
{
    struct bed b;
    start(&b, "echo x >>out; exit 3", 30000);
    tell(&b, "10.0.0.1");
    await(&b, "x\n", 1);
    expect_log(&b, "exit code 3 (generation 1)");
    tell(&b, "10.0.0.2");
    await(&b, "x\nx\n", 2);
    cr_assert_eq(unlink(b.program), 0);
    tell(&b, "10.0.0.3"); // cannot be started any more
    await(&b, "", 3);
    expect_log(&b, "No such file");
    stop(&b);
}

Test(hook, one_that_takes_too_long_is_ended_with_its_children, .timeout = 60)
{
    struct bed b;
    start(&b, "sleep 600 & echo $! >pid; echo x >out; wait", 1000);
    tell(&b, "10.0.0.1");
    await(&b, "", 1);
    await_idle(&b);
    expect_log(&b, "took too long");
    CLEANUP_FREE char *path = xasprintf("%s/pid", b.dir);
    CLEANUP_FREE char *pid = read_file(path);
    // Killed, if perhaps not reaped by whoever inherited it.
    CLEANUP_FREE char *stat = xasprintf("/proc/%d/stat", atoi(pid));
    for (;;) {
        CLEANUP_FREE char *text = read_file(stat);
        if (text[0] == '\0' || strstr(text, ") Z ") != NULL)
            break;
        event_base_loop(b.base, EVLOOP_NONBLOCK);
    }
    stop(&b);
}

Test(hook, one_that_ignores_sigterm_is_killed, .timeout = 60)
{
    struct bed b;
    start(&b, "trap '' TERM; echo x >out; while :; do sleep 0.1; done", 3000);
    tell(&b, "10.0.0.1");
    await(&b, "x", 1);
    expect_log(&b, "SIGKILL");
    stop(&b);
}

Test(hook, much_output_is_bounded, .timeout = 60)
{
    struct bed b;
    start(&b,
          "head -c 3000 /dev/zero | tr '\\0' x; echo; yes | head -n 200000; echo >out",
          60000);
    tell(&b, "10.0.0.1");
    await(&b, "\n", 0);
    await_idle(&b);
    expect_log(&b, "it has printed 64 KiB: more is not logged");
    CLEANUP_FREE char *log = read_file(b.logged);
    cr_assert_lt(strlen(log), 64 << 20);
    for (const char *at = log, *end; (end = strchr(at, '\n')) != NULL; at = end + 1)
        cr_assert_lt(end - at, 1200);
    stop(&b);
}

Test(hook, a_program_that_is_not_there_is_refused)
{
    ERR_AUTO err = ERR_INIT;
    struct hook_conf conf = {.program = "/no/such/program"};
    cr_assert_null(hook_create(&conf, &err));
    cr_assert_not_null(strstr(err.text, "--on-change /no/such/program"));
}
