// An inspector in a forked child: its states, how checks end, and that nothing is left of them.
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/inspector.h"
#include "agent/inspector_fsm.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "wire/msg.h"

enum { WAIT_MS = 30000, TIMEOUT_MS = 20000, NUMBER = 7 };

// ---- states -----------------------------------------------------------------------

static const struct {
    enum inspector_state from;
    enum inspector_event event;
    enum inspector_state to;
} moves[] = {
    {INSPECTOR_WAITING, INSPECTOR_EV_ORDER, INSPECTOR_RUNNING},
    {INSPECTOR_WAITING, INSPECTOR_EV_ORPHANED, INSPECTOR_OVER},
    {INSPECTOR_RUNNING, INSPECTOR_EV_ENDED, INSPECTOR_CLEARING},
    {INSPECTOR_RUNNING, INSPECTOR_EV_LATE, INSPECTOR_CLEARING},
    {INSPECTOR_RUNNING, INSPECTOR_EV_ORPHANED, INSPECTOR_ORPHANED},
    {INSPECTOR_CLEARING, INSPECTOR_EV_NEXT, INSPECTOR_RUNNING},
    {INSPECTOR_CLEARING, INSPECTOR_EV_LAST, INSPECTOR_OVER},
    {INSPECTOR_CLEARING, INSPECTOR_EV_STUCK, INSPECTOR_OVER},
    {INSPECTOR_CLEARING, INSPECTOR_EV_ORPHANED, INSPECTOR_ORPHANED},
    {INSPECTOR_ORPHANED, INSPECTOR_EV_LAST, INSPECTOR_OVER},
    {INSPECTOR_ORPHANED, INSPECTOR_EV_STUCK, INSPECTOR_OVER},
};

static int expected(int s, int ev)
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if ((int)moves[i].from == s && (int)moves[i].event == ev)
            return (int)moves[i].to;
    return s;
}

Test(inspector, every_event_in_every_state)
{
    for (int s = 0; s < INSPECTOR_STATES; s++)
        for (int ev = 0; ev < INSPECTOR_EVENTS; ev++)
            cr_assert_eq((int)inspector_fsm_next((enum inspector_state)s,
                                                 (enum inspector_event)ev),
                         expected(s, ev), "%s -- %s",
                         inspector_state_name((enum inspector_state)s),
                         inspector_event_name((enum inspector_event)ev));
}

// ---- a bed ------------------------------------------------------------------------

struct bed {
    pid_t pid;
    int fd;
};

static void run(int fd) __attribute__((noreturn));

static void run(int fd)
{
    char name[] = "inspector", *argv[] = {name, NULL};
    dup2(fd, 3);
    close_range(4, ~0U, 0);
    _exit(inspector_main(1, argv));
}

static struct bed start(void)
{
    int sv[2];
    struct bed b;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
        abort();
    b.pid = fork();
    if (b.pid == 0)
        run(dup2(sv[1], 20)); // above its place
    close(sv[1]);
    b.fd = sv[0];
    return b;
}

// Scripts for the shell, in turn.
static void order(const struct bed *b, const char *const *scripts, size_t n,
                  uint32_t timeout_ms)
{
    BUF_AUTO body = BUF_INIT;
    BUF_AUTO out = BUF_INIT;
    struct frame f = {.kind = FRAME_INSPECT, .job = 5, .term = 2};
    Muster__Inspect m = MUSTER__INSPECT__INIT;
    CLEANUP_FREE Muster__Check *checks = xcalloc(n, sizeof *checks);
    CLEANUP_FREE Muster__Check **list = xcalloc(n, sizeof *list);
    CLEANUP_FREE char **words = xcalloc(3 * n, sizeof *words);
    for (size_t i = 0; i < n; i++) {
        char *argv[] = {xstrdup("sh"), xstrdup("-c"), xstrdup(scripts[i])};
        memcpy(words + 3 * i, argv, sizeof argv);
        muster__check__init(&checks[i]);
        checks[i].name = argv[0];
        checks[i].argv = words + 3 * i;
        checks[i].n_argv = 3;
        list[i] = &checks[i];
    }
    m.number = NUMBER;
    m.timeout_ms = timeout_ms;
    m.checks = list;
    m.n_checks = n;
    m.full = true;
    char *env[] = {(char[]){"PLANTED=a=b"}};
    m.env = env;
    m.n_env = 1;
    msg_pack(&f, &body, &m.base);
    frame_encode(&out, &f);
    cr_assert_eq(send(b->fd, buf_data(&out), buf_len(&out), MSG_NOSIGNAL),
                 (ssize_t)buf_len(&out));
    for (size_t i = 0; i < 3 * n; i++)
        free(words[i]);
}

// Its verdict, after which it has ended; NULL: it gave none. Free with msg_free.
static Muster__Verdict *end(struct bed *b)
{
    BUF_AUTO in = BUF_INIT;
    struct frame f;
    size_t used;
    int status, got = 0;
    struct pollfd p = {.fd = b->fd, .events = POLLIN};
    ssize_t n = 1;
    while (n > 0 && (got = frame_decode(&in, &f, &used, NULL)) == 0) {
        cr_assert_gt(poll(&p, 1, WAIT_MS), 0, "no verdict");
        n = read(b->fd, buf_reserve(&in, 65536), 65536);
        buf_commit(&in, n > 0 ? (size_t)n : 0);
    }
    Muster__Verdict *v =
        got > 0 ? msg_unpack(&f, &muster__verdict__descriptor, NULL) : NULL;
    cr_assert(v == NULL || (f.kind == FRAME_VERDICT && f.job == 5 && f.term == 2));
    close(b->fd);
    cr_assert_eq(waitpid(b->pid, &status, 0), b->pid);
    cr_assert_eq(status, 0);
    return v;
}

static Muster__Verdict *verdict_on(const char *const *scripts, size_t n,
                                   uint32_t timeout_ms)
{
    struct bed b = start();
    order(&b, scripts, n, timeout_ms);
    Muster__Verdict *v = end(&b);
    cr_assert(v != NULL);
    cr_assert_eq(v->number, NUMBER);
    return v;
}

static bool is_gone(pid_t pid)
{
    char state = proc_state(pid);
    return state == '\0' || state == 'Z';
}

static char *output_of(const Muster__CheckEnd *e)
{
    return xstrndup((const char *)e->output.data, e->output.len);
}

// ---- checks -------------------------------------------------------------------------

Test(inspector, checks_run_in_turn_and_are_told_as_they_ended, .timeout = 60)
{
    static const char *const scripts[] = {
        "echo '{}'; echo first >&2; exit 1",
        "echo $MUSTER_CHECK_FULL $MUSTER_CHECK_TIMEOUT $PLANTED; cat; kill -BUS $$"};
    Muster__Verdict *v = verdict_on(scripts, 2, TIMEOUT_MS);
    cr_assert_eq(v->n_ends, 2);
    CLEANUP_FREE char *one = output_of(v->ends[0]), *two = output_of(v->ends[1]);
    cr_assert_str_eq(one, "{}\n");
    cr_assert_str_eq(v->ends[0]->words, "first\n");
    cr_assert_eq(WEXITSTATUS(v->ends[0]->status), 1);
    cr_assert_str_eq(two, "1 20 a=b\n");
    cr_assert(WIFSIGNALED(v->ends[1]->status));
    cr_assert_eq(WTERMSIG(v->ends[1]->status), SIGBUS);
    cr_assert_not(v->ends[1]->late);
    msg_free(v);
}

Test(inspector, one_that_hangs_is_killed_with_all_that_it_made, .timeout = 60)
{
    static const char *const scripts[] = {
        "trap '' TERM\n"
        "(setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' &)\n"
        "sh -c 'echo $$; kill -STOP $$' &\n"
        "echo $$; while :; do sleep 1; done",
        "echo second"};
    Muster__Verdict *v = verdict_on(scripts, 2, 1500);
    cr_assert_eq(v->n_ends, 2);
    cr_assert(v->ends[0]->late);
    cr_assert_geq(v->ends[0]->took_ms, 1500);
    CLEANUP_FREE char *pids = output_of(v->ends[0]), *second = output_of(v->ends[1]);
    char *p = pids;
    for (int i = 0; i < 3; i++) {
        pid_t pid = (pid_t)strtol(p, &p, 10);
        cr_assert_gt(pid, 1, "%s", pids);
        cr_assert(is_gone(pid), "%d is left", (int)pid);
    }
    cr_assert_str_eq(second, "second\n");
    msg_free(v);
}

Test(inspector, what_it_leaves_behind_ends_with_it, .timeout = 60)
{
    static const char *const scripts[] = {
        "setsid sleep 1000 >/dev/null 2>&1 & echo $!; exit 0"};
    Muster__Verdict *v = verdict_on(scripts, 1, TIMEOUT_MS);
    CLEANUP_FREE char *text = output_of(v->ends[0]);
    pid_t pid = (pid_t)atoi(text);
    cr_assert_gt(pid, 1);
    cr_assert(is_gone(pid));
    cr_assert_not(v->ends[0]->late);
    cr_assert_eq(v->ends[0]->status, 0);
    msg_free(v);
}

Test(inspector, output_is_bounded, .timeout = 60)
{
    static const char *const scripts[] = {"head -c 1000000 /dev/zero | tr '\\0' x; "
                                          "head -c 5000 /dev/zero | tr '\\0' y >&2; "
                                          "echo end >&2"};
    Muster__Verdict *v = verdict_on(scripts, 1, TIMEOUT_MS);
    cr_assert(v->ends[0]->cut);
    cr_assert_eq(v->ends[0]->output.len, INSPECTOR_OUTPUT_MAX);
    size_t n = strlen(v->ends[0]->words);
    cr_assert_eq(n, INSPECTOR_WORDS_MAX);
    cr_assert_str_eq(v->ends[0]->words + n - 4, "end\n");
    msg_free(v);
}

Test(inspector, without_checks_and_with_one_that_is_not_there, .timeout = 60)
{
    Muster__Verdict *v = verdict_on(NULL, 0, TIMEOUT_MS);
    cr_assert_eq(v->n_ends, 1);
    cr_assert(strstr(v->ends[0]->error, "no checks are installed") != NULL);
    msg_free(v);
    struct bed b = start();
    BUF_AUTO body = BUF_INIT;
    BUF_AUTO out = BUF_INIT;
    struct frame f = {.kind = FRAME_INSPECT, .job = 5, .term = 2};
    Muster__Inspect m = MUSTER__INSPECT__INIT;
    Muster__Check c = MUSTER__CHECK__INIT, *list[] = {&c};
    CLEANUP_FREE char *path = xstrdup("/no/such/check");
    char *argv[] = {path};
    c.argv = argv;
    c.n_argv = 1;
    m.checks = list;
    m.n_checks = 1;
    m.timeout_ms = TIMEOUT_MS;
    msg_pack(&f, &body, &m.base);
    frame_encode(&out, &f);
    cr_assert_eq(send(b.fd, buf_data(&out), buf_len(&out), MSG_NOSIGNAL),
                 (ssize_t)buf_len(&out));
    v = end(&b);
    cr_assert(v != NULL);
    cr_assert(strstr(v->ends[0]->error, "/no/such/check") != NULL);
    msg_free(v);
}

Test(inspector, when_the_agent_goes_its_check_ends, .timeout = 60)
{
    int out[2];
    char text[32] = "";
    if (pipe(out) < 0)
        abort();
    CLEANUP_FREE char *script = xasprintf(
        "(setsid sh -c 'echo $$ >/proc/%d/fd/%d; exec sleep 1000' &); sleep 1000",
        (int)getpid(), out[1]);
    const char *const scripts[] = {script};
    struct bed b = start();
    order(&b, scripts, 1, TIMEOUT_MS);
    struct pollfd p = {.fd = out[0], .events = POLLIN};
    cr_assert_gt(poll(&p, 1, WAIT_MS), 0);
    cr_assert_gt(read(out[0], text, sizeof text - 1), 0);
    pid_t pid = (pid_t)atoi(text);
    cr_assert_not(is_gone(pid));
    shutdown(b.fd, SHUT_WR);
    Muster__Verdict *v = end(&b);
    msg_free(v); // on a socket that is half open the verdict may still come
    cr_assert(is_gone(pid));
    close(out[0]);
    close(out[1]);
}
