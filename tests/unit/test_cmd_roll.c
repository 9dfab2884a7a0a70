// `muster roll` as a user runs it: output, exit codes, error texts.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/strv.h"
#include "fakedns.h"

extern char **environ;

struct run {
    struct event_base *base;
    struct fakedns *server;
    char out[8192], err[4096];
    size_t nout, nerr;
    int open; // ends of pipes still open
    int code;
    uint64_t took_ms;
};

struct end {
    struct run *run;
    char *text;
    size_t *n, size;
    struct event *event;
};

static void on_output(int fd, short what, void *arg)
{
    struct end *e = arg;
    ssize_t n = read(fd, e->text + *e->n, e->size - *e->n - 1);
    if (n > 0) {
        *e->n += (size_t)n;
        return;
    }
    event_del(e->event);
    close(fd);
    if (--e->run->open == 0)
        event_base_loopbreak(e->run->base);
}

static void watch(struct run *r, struct end *e, int fd, char *text, size_t *n,
                  size_t size)
{
    *e = (struct end){.run = r, .text = text, .n = n, .size = size};
    *n = 0;
    memset(text, 0, size);
    e->event = event_new(r->base, fd, EV_READ | EV_PERSIST, on_output, e);
    event_add(e->event, NULL);
    r->open++;
}

// Runs `muster roll` with the words of `args`, while the DNS server answers.
static void roll(struct run *r, const char *args)
{
    ERR_AUTO err = ERR_INIT;
    STRV_AUTO argv = STRV_INIT;
    const char *dir = getenv("MUSTER_BUILDDIR");
    CLEANUP_FREE char *path = xasprintf("%s/launcher/muster", dir != NULL ? dir : ".");
    CLEANUP_FREE char *copy = xstrdup(args);
    strv_add(&argv, "muster");
    strv_add(&argv, "roll");
    char *rest, *word = strtok_r(copy, " ", &rest);
    for (; word != NULL; word = strtok_r(NULL, " ", &rest))
        strv_add(&argv, word);
    int out[2], problems[2];
    cr_assert_eq(pipe2(out, O_CLOEXEC) | pipe2(problems, O_CLOEXEC), 0);
    struct proc_fd fds[] = {{out[1], 1}, {problems[1], 2}};
    struct proc_spec spec = {
        .path = path, .argv = argv.v, .envp = environ, .fds = fds, .nfds = 2};
    struct end ends[2];
    uint64_t before = loop_now_ms();
    pid_t pid = proc_spawn(&spec, &err);
    cr_assert_gt(pid, 0, "%s", err_text(&err));
    close(out[1]);
    close(problems[1]);
    watch(r, &ends[0], out[0], r->out, &r->nout, sizeof r->out);
    watch(r, &ends[1], problems[0], r->err, &r->nerr, sizeof r->err);
    event_base_dispatch(r->base);
    event_free(ends[0].event);
    event_free(ends[1].event);
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    r->code = proc_status_code(status);
    r->took_ms = loop_now_ms() - before;
}

static void start(struct run *r)
{
    memset(r, 0, sizeof *r);
    r->base = loop_create();
    r->server = fakedns_create(r->base);
}

static void stop(struct run *r)
{
    fakedns_destroy(r->server);
    loop_destroy(r->base);
}

static void expect(struct run *r, const char *args, int code, const char *out,
                   const char *err)
{
    roll(r, args);
    cr_assert_eq(r->code, code, "%s: exit code %d, not %d: %s", args, r->code, code,
                 r->err);
    cr_assert_not_null(strstr(r->out, out), "%s prints: %s", args, r->out);
    cr_assert_not_null(strstr(r->err, err), "%s says: %s", args, r->err);
}

Test(roll, prints_a_table_and_tells_by_its_exit_code, .timeout = 30)
{
    struct run r;
    start(&r);
    expect(&r, "--local", 0, "127.0.0.1", "");
    expect(&r, "--host 10.0.0.1 --members 2", 1, "10.0.0.1", "");
    expect(&r, "--host [fd00::10]:2,[fd00::5]", 0,
           "MEMBER     SLOTS  ADDRESS\nfd00::10       2  fd00::10\n"
           "fd00::5        1  fd00::5\n",
           "");
    expect(&r, "-host 10.0.0.1,10.0.0.2 --slots 4", 0, "10.0.0.2       4  10.0.0.2",
           "");
    stop(&r);
}

Test(roll, missing_members_are_named_with_the_reason, .timeout = 30)
{
    struct run r;
    start(&r);
    fakedns_add(r.server, "w-0.svc.test", "A", "10.0.0.1");
    CLEANUP_FREE char *args =
        xasprintf("--pods w-[0-1].svc.test. --dns-server %s", fakedns_server(r.server));
    expect(&r, args, 1, "w-1.svc.test       -  NXDOMAIN (w-1.svc.test.)", "");
    CLEANUP_FREE char *wait = xasprintf("%s --wait 1", args);
    expect(&r, wait, 1, "w-0.svc.test       -  10.0.0.1", "");
    cr_assert_geq(r.took_ms, 1000);
    fakedns_add(r.server, "w-1.svc.test", "A", "10.0.0.2");
    CLEANUP_FREE char *longer = xasprintf("%s --wait 100", args);
    expect(&r, longer, 0, "w-1.svc.test       -  10.0.0.2", "");
    stop(&r);
}

Test(roll, json_for_programs, .timeout = 30)
{
    struct run r;
    start(&r);
    expect(&r, "--json --host u@[fd00::1]:3,fd00::5:8", 0, "", "");
    json_t *all = json_loads(r.out, 0, NULL);
    cr_assert_not_null(all, "%s", r.out);
    json_t *first = json_array_get(json_object_get(all, "members"), 0);
    cr_assert_str_eq(json_string_value(json_object_get(first, "name")), "fd00::1");
    cr_assert_str_eq(json_string_value(json_object_get(first, "user")), "u");
    cr_assert_str_eq(json_string_value(json_object_get(first, "address")), "fd00::1");
    cr_assert_eq(json_integer_value(json_object_get(first, "slots")), 3);
    cr_assert(json_is_null(json_object_get(first, "port")));
    cr_assert(json_is_null(json_object_get(first, "why")));
    cr_assert_eq(json_array_size(json_object_get(all, "warnings")), 1);
    json_t *source = json_object_get(all, "source");
    cr_assert_str_eq(json_string_value(json_object_get(source, "text")),
                     "host list u@[fd00::1]:3,fd00::5:8");
    cr_assert(json_is_null(json_object_get(source, "system")));
    json_decref(all);
    stop(&r);
}

Test(roll, errors_end_with_125_and_one_line, .timeout = 30)
{
    struct run r;
    start(&r);
    expect(&r, "--hostfile /no/such/file", 125, "",
           "muster roll: /no/such/file: HF_NOT_FOUND: ");
    expect(&r, "--hostfile /tmp", 125, "", "HF_NOT_A_FILE");
    expect(&r, "--host a,,b", 125, "", "muster roll: --host:3: HF_SYNTAX: ");
    expect(&r, "--host a --dns b", 125, "",
           "muster roll: --host a and --dns b: the members come from one source");
    expect(&r, "--slots x", 125, "", "--slots is 'x'");
    expect(&r, "--wait x", 125, "", "--wait x: give seconds, 0 to");
    expect(&r, "--host a b", 125, "", "host lists are comma separated");
    expect(&r, "--host 10.0.0.1 --dns-server nope", 125, "", "nope");
    expect(&r, "--host 10.0.0.1:2,[fd00::5]", 125, "",
           "FAMILY_MISMATCH: there is no address family that all members have: IPv4 "
           "alone: 10.0.0.1; IPv6: fd00::5");
    cr_assert_str_eq(r.out, "");
    stop(&r);
}
