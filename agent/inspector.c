// One check at a time: started, listened to, killed with all that it made, told.
#include "agent/inspector.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/check_list.h"
#include "agent/inspector_fsm.h"
#include "agent/keeper_kin.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/strv.h"
#include "wire/chan.h"
#include "wire/msg.h"

enum {
    AGENT_FD = 3,
    PAUSE_MAX_MS = 64,
    FLUSH_MS = 2000,
    PIECE = 4096,
    STREAMS = 2, // stdout, stderr
};

struct stream {
    struct inspector *of;
    int fd; // -1: closed
    struct event *readable;
    struct buf kept;
};

struct inspector {
    struct event_base *base;
    struct log *log;
    struct chan *agent;
    struct event *child, *look, *limit;
    enum inspector_state state;
    struct frame head; // of what is sent
    Muster__Inspect *order;
    Muster__Verdict verdict;
    Muster__CheckEnd *end; // of the check that runs; the verdict's, too
    pid_t pid;             // 0: it has ended
    struct stream streams[STREAMS];
    uint64_t began;
    uint64_t deadline; // of the killing
    unsigned pause;    // ms between two rounds of it
};

static void happen(struct inspector *in, enum inspector_event ev);

// ---- what it prints ---------------------------------------------------------------

static void close_stream(struct stream *s)
{
    if (s->fd < 0)
        return;
    event_free(s->readable);
    close(s->fd);
    s->fd = -1;
}

// The beginning of stdout, the end of stderr.
static void keep(struct stream *s, size_t n)
{
    struct inspector *in = s->of;
    buf_commit(&s->kept, n);
    size_t len = buf_len(&s->kept);
    if (s == &in->streams[0] && len > INSPECTOR_OUTPUT_MAX) {
        in->end->cut = true;
        s->kept.end -= len - INSPECTOR_OUTPUT_MAX;
    } else if (s != &in->streams[0] && len > INSPECTOR_WORDS_MAX) {
        buf_take(&s->kept, len - INSPECTOR_WORDS_MAX);
    }
}

// False: nothing more comes, for now or for ever.
static bool read_some(struct stream *s)
{
    if (s->fd < 0)
        return false;
    ssize_t n = read(s->fd, buf_reserve(&s->kept, PIECE), PIECE);
    if (n > 0)
        keep(s, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_stream(s);
    return n > 0;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    read_some(arg);
}

static void open_stream(struct inspector *in, int i, int fd)
{
    struct stream *s = &in->streams[i];
    *s = (struct stream){.of = in, .fd = fd};
    proc_set_nonblock(fd);
    s->readable = event_new(in->base, fd, EV_READ | EV_PERSIST, on_readable, s);
    event_add(s->readable, NULL);
}

// What is in the pipes still is taken: no more than a pipe holds, as nobody writes.
static void finish_stream(struct stream *s)
{
    for (int i = 0; i < 2 * INSPECTOR_OUTPUT_MAX / PIECE && read_some(s); i++)
        ;
    close_stream(s);
}

static void take_output(struct inspector *in)
{
    for (int i = 0; i < STREAMS; i++)
        finish_stream(&in->streams[i]);
    struct buf *out = &in->streams[0].kept;
    in->end->output.len = buf_len(out);
    in->end->output.data =
        buf_len(out) > 0 ? xmemdup(buf_data(out), buf_len(out)) : NULL;
    buf_free(out);
    in->end->words = buf_steal_str(&in->streams[1].kept);
}

// ---- starting -----------------------------------------------------------------------

static const Muster__Check *current(const struct inspector *in)
{
    return in->order->checks[in->verdict.n_ends - 1];
}

static void make_env(const struct inspector *in, struct strv *env)
{
    for (char **e = environ; *e != NULL; e++)
        strv_add(env, *e);
    strv_setenv(env, "MUSTER_MEMBER", in->order->member);
    strv_setenvf(env, "MUSTER_CHECK_TIMEOUT", "%g", in->order->timeout_ms / 1e3);
    strv_unsetenv(env, "MUSTER_CHECK_FULL");
    if (in->order->full)
        strv_setenv(env, "MUSTER_CHECK_FULL", "1");
    for (size_t i = 0; i < in->order->n_env; i++) {
        CLEANUP_FREE char *name = xstrdup(in->order->env[i]);
        char *value = strchr(name, '=');
        *value++ = '\0'; // is_sound()
        strv_setenv(env, name, value);
    }
}

// A bare name is that of an installed check, or a program in PATH.
static char *find_program(const char *name, const char *path, struct err *err)
{
    char *found = strchr(name, '/') == NULL ? check_list_find(name) : NULL;
    return found != NULL ? found : proc_resolve(name, path, NULL, err);
}

static pid_t spawn(const struct inspector *in, const int theirs[STREAMS],
                   struct err *err)
{
    STRV_AUTO env = STRV_INIT, argv = STRV_INIT;
    const Muster__Check *c = current(in);
    make_env(in, &env);
    strv_add_all(&argv, c->argv, c->n_argv);
    CLEANUP_FREE char *path = find_program(c->argv[0], strv_getenv(&env, "PATH"), err);
    CLEANUP_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (path == NULL)
        return -1;
    const struct proc_fd fds[] = {{null, 0}, {theirs[0], 1}, {theirs[1], 2}};
    const struct proc_spec spec = {.path = path,
                                   .argv = argv.v,
                                   .envp = env.v,
                                   .fds = fds,
                                   .nfds = sizeof fds / sizeof *fds,
                                   .own_session = true,
                                   .death_signal = SIGKILL};
    return proc_spawn(&spec, err);
}

static int start(struct inspector *in, struct err *err)
{
    int out[2], words[2];
    if (pipe2(out, O_CLOEXEC) < 0) {
        err_set_errno(err, errno, "no pipe for its output");
        return -1;
    }
    if (pipe2(words, O_CLOEXEC) < 0) {
        err_set_errno(err, errno, "no pipe for its output");
        close(out[0]);
        close(out[1]);
        return -1;
    }
    in->pid = spawn(in, (const int[STREAMS]){out[1], words[1]}, err);
    close(out[1]);
    close(words[1]);
    open_stream(in, 0, out[0]);
    open_stream(in, 1, words[0]);
    return in->pid > 0 ? 0 : -1;
}

static void add_end(struct inspector *in)
{
    Muster__Verdict *v = &in->verdict;
    in->end = xmalloc(sizeof *in->end);
    muster__check_end__init(in->end);
    v->ends = xrealloc(v->ends, v->n_ends + 1, sizeof(Muster__CheckEnd *));
    v->ends[v->n_ends++] = in->end;
}

static void set_error(struct inspector *in, const char *text)
{
    in->end->error = xstrdup(text);
}

static void enter_running(struct inspector *in)
{
    ERR_AUTO err = ERR_INIT;
    add_end(in);
    in->end->name = xstrdup(current(in)->name);
    in->began = loop_now_ms();
    if (start(in, &err) == 0) {
        loop_timer_arm(in->limit, in->order->timeout_ms);
        return;
    }
    in->pid = 0;
    set_error(in, err_text(&err));
    happen(in, INSPECTOR_EV_ENDED);
}

// ---- ending -------------------------------------------------------------------------

// Returns how many.
static size_t reap(struct inspector *in)
{
    size_t n = 0;
    pid_t pid;
    for (int status; (pid = waitpid(-1, &status, WNOHANG)) > 0; n++) {
        if (pid != in->pid)
            continue;
        in->pid = 0;
        in->end->status = status;
        in->end->took_ms = (uint32_t)(loop_now_ms() - in->began);
    }
    return n;
}

static void enter_clearing(struct inspector *in)
{
    loop_timer_disarm(in->limit);
    in->deadline = loop_now_ms() + INSPECTOR_KILL_MS;
    in->pause = 0;
    loop_timer_arm(in->look, 0);
}

static void enter_over(struct inspector *in)
{
    event_base_loopbreak(in->base);
}

static void happen(struct inspector *in, enum inspector_event ev)
{
    static void (*const enter[INSPECTOR_STATES])(struct inspector *) = {
        [INSPECTOR_RUNNING] = enter_running,
        [INSPECTOR_CLEARING] = enter_clearing,
        [INSPECTOR_ORPHANED] = enter_clearing,
        [INSPECTOR_OVER] = enter_over,
    };
    enum inspector_state old = in->state, next = inspector_fsm_next(old, ev);
    if (next == old)
        return;
    log_debug(in->log, "%s: %s -> %s", inspector_event_name(ev),
              inspector_state_name(old), inspector_state_name(next));
    in->state = next;
    enter[next](in);
}

static void give_up(struct inspector *in)
{
    STRV_AUTO names = STRV_INIT;
    keeper_kin_name(0, &names);
    for (size_t i = 0; i < names.n; i++)
        log_warn(in->log, "outlived SIGKILL: %s", names.v[i]);
    in->end->leftovers = strv_take(&names, &in->end->n_leftovers);
    take_output(in);
    happen(in, INSPECTOR_EV_STUCK);
}

static void cleared(struct inspector *in)
{
    bool more = in->verdict.n_ends < in->order->n_checks;
    take_output(in);
    happen(in, more && in->state == INSPECTOR_CLEARING ? INSPECTOR_EV_NEXT
                                                       : INSPECTOR_EV_LAST);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct inspector *in = arg;
    if (in->state != INSPECTOR_CLEARING && in->state != INSPECTOR_ORPHANED)
        return;
    if (keeper_kin_kill(0) == 0 && reap(in) == 0 && in->pid == 0) {
        cleared(in);
    } else if (loop_now_ms() >= in->deadline) {
        give_up(in);
    } else {
        loop_timer_arm(in->look, in->pause);
        in->pause = in->pause * 2 + 1 > PAUSE_MAX_MS ? PAUSE_MAX_MS : in->pause * 2 + 1;
    }
}

static void on_child(evutil_socket_t signo, short what, void *arg)
{
    struct inspector *in = arg;
    bool running = in->pid > 0;
    reap(in);
    if (running && in->pid == 0)
        happen(in, INSPECTOR_EV_ENDED);
    on_look(-1, 0, in);
}

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct inspector *in = arg;
    in->end->late = true;
    happen(in, INSPECTOR_EV_LATE);
}

// ---- messages -------------------------------------------------------------------------

static bool is_sound(const Muster__Inspect *m)
{
    if (m == NULL || m->n_checks > INSPECTOR_CHECKS_MAX || m->timeout_ms == 0)
        return false;
    for (size_t i = 0; i < m->n_checks; i++)
        if (m->checks[i]->n_argv == 0)
            return false;
    for (size_t i = 0; i < m->n_env; i++)
        if (strchr(m->env[i], '=') == NULL || m->env[i][0] == '=')
            return false;
    return true;
}

// Without any that could be run the answer is given at once.
static void take_order(struct inspector *in, Muster__Inspect *m)
{
    in->order = m;
    in->verdict.number = m->number;
    if (m->n_checks == 0) {
        free(m->checks);
        m->n_checks = check_list_installed(m->timeout_ms, m->full, &m->checks);
    }
    if (m->n_checks > 0) {
        happen(in, INSPECTOR_EV_ORDER);
        return;
    }
    add_end(in);
    in->end->name = xstrdup("");
    set_error(in, "no checks are installed beside musterd (in libexec/muster); install "
                  "them, or give --check-command");
    enter_over(in);
}

static void on_frame(void *arg, const struct frame *f)
{
    struct inspector *in = arg;
    Muster__Inspect *m = f->kind == FRAME_INSPECT && in->order == NULL
                             ? msg_unpack(f, &muster__inspect__descriptor, NULL)
                             : NULL;
    if (!is_sound(m)) {
        log_warn(in->log, "dropped %s from the agent: it makes no sense here",
                 frame_kind_name(f->kind));
        msg_free(m);
        return;
    }
    in->head = (struct frame){.kind = FRAME_VERDICT, .job = f->job, .term = f->term};
    take_order(in, m);
}

static void on_closed(void *arg, const struct err *why)
{
    happen(arg, INSPECTOR_EV_ORPHANED);
}

// ---- life -----------------------------------------------------------------------------

static void create(struct inspector *in, struct log *log)
{
    static const struct chan_ops ops = {.frame = on_frame, .closed = on_closed};
    *in = (struct inspector){.log = log, .base = loop_create()};
    for (int i = 0; i < STREAMS; i++)
        in->streams[i].fd = -1;
    muster__verdict__init(&in->verdict);
    in->child = evsignal_new(in->base, SIGCHLD, on_child, in);
    event_add(in->child, NULL);
    in->look = loop_timer(in->base, on_look, in);
    in->limit = loop_timer(in->base, on_limit, in);
    in->agent = chan_create(in->base, AGENT_FD, AGENT_FD, &ops, in);
}

static void free_ends(Muster__Verdict *v)
{
    for (size_t i = 0; i < v->n_ends; i++)
        msg_free(v->ends[i]);
    free(v->ends);
}

static void destroy(struct inspector *in)
{
    for (int i = 0; i < STREAMS; i++) {
        close_stream(&in->streams[i]);
        buf_free(&in->streams[i].kept);
    }
    chan_destroy(in->agent);
    event_free(in->child);
    loop_timer_free(in->look);
    loop_timer_free(in->limit);
    msg_free(in->order);
    free_ends(&in->verdict);
    loop_destroy(in->base);
}

static void inspect(struct log *log)
{
    struct inspector in;
    create(&in, log);
    event_base_dispatch(in.base);
    if (in.order != NULL) {
        chan_send_msg(in.agent, &in.head, &in.verdict.base);
        chan_flush(in.agent, FLUSH_MS);
    }
    destroy(&in);
}

static int prepare(struct err *err)
{
    struct stat st;
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
    if (fstat(AGENT_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
        err_set(err,
                "fd %d is no socket: inspectors are started by musterd, not by "
                "hand",
                AGENT_FD);
        return -1;
    }
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        err_set_errno(err, errno, "cannot become a subreaper");
        return -1;
    }
    proc_set_cloexec(AGENT_FD);
    prctl(PR_SET_NAME, "inspector"); // for ps and top
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN); // only fd 3 counts
    return 0;
}

int inspector_main(int argc, char **argv)
{
    ERR_AUTO err = ERR_INIT;
    bool debug = argc == 2 && strcmp(argv[1], "--debug") == 0;
    struct log *log = log_create(STDERR_FILENO, "musterd inspector",
                                 debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    int code = 0;
    if (argc > 1 && !debug)
        err_set(&err, "%s: usage: musterd inspector [--debug]", argv[1]);
    if (err.text == NULL && prepare(&err) == 0) {
        inspect(log);
    } else {
        log_error(log, "%s", err_text(&err));
        code = 125;
    }
    log_destroy(log);
    return code;
}
