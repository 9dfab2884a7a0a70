// Running commands for stock ssh clients.
#include "agent/shell.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/proc.h"

enum { SHELLS_MAX = 256, IN_MAX = 64 * 1024, PIECE = 32 * 1024, STREAMS = 2 };

struct shells {
    struct agent *agent;
    unsigned running;
};

struct stream {
    struct shell *shell;
    int number; // 1 stdout, 2 stderr
    int fd;     // -1: ended
    struct event *readable;
    struct buf held; // read, not yet taken
};

struct shell {
    struct shells *of;
    struct link_shell *sh;
    struct agent_child *child;
    pid_t pid;
    bool exited;
    int status;
    int in; // -1: closed
    struct event *writable;
    struct buf input;
    bool input_ended;
    struct stream out[STREAMS];
};

// ---- from the command to the client -------------------------------------------------

static void end_if_over(struct shell *s)
{
    for (int i = 0; i < STREAMS; i++)
        if (s->out[i].fd >= 0 || buf_len(&s->out[i].held) > 0)
            return;
    if (s->exited)
        link_shell_end(s->sh, s->status);
}

static void close_stream(struct stream *st)
{
    if (st->fd < 0)
        return;
    event_free(st->readable);
    close(st->fd);
    st->fd = -1;
}

// Hands on what is held; reading goes on when all is taken.
static void hand_on(struct stream *st)
{
    if (buf_len(&st->held) > 0)
        buf_take(&st->held, link_shell_write(st->shell->sh, st->number,
                                             buf_data(&st->held), buf_len(&st->held)));
    if (st->fd >= 0 && buf_len(&st->held) == 0)
        event_add(st->readable, NULL);
    else if (st->fd >= 0)
        event_del(st->readable);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct stream *st = arg;
    ssize_t n = read(st->fd, buf_reserve(&st->held, PIECE), PIECE);
    if (n > 0) {
        buf_commit(&st->held, (size_t)n);
        hand_on(st);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_stream(st);
        end_if_over(st->shell);
    }
}

static void on_drained(void *run)
{
    struct shell *s = run;
    for (int i = 0; i < STREAMS; i++)
        hand_on(&s->out[i]);
    end_if_over(s);
}

static void on_exit_of(void *arg, int status)
{
    struct shell *s = arg;
    s->child = NULL;
    s->exited = true;
    s->status = status;
    end_if_over(s);
}

// ---- from the client to the command -------------------------------------------------

static void close_input(struct shell *s)
{
    if (s->in < 0)
        return;
    event_free(s->writable);
    close(s->in);
    s->in = -1;
    buf_clear(&s->input);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct shell *s = arg;
    ssize_t n = buf_len(&s->input) > 0
                    ? write(s->in, buf_data(&s->input), buf_len(&s->input))
                    : 0;
    if (n > 0)
        buf_take(&s->input, (size_t)n);
    bool broken = n < 0 && errno != EAGAIN && errno != EINTR; // it reads no more
    if (broken || (buf_len(&s->input) == 0 && s->input_ended))
        close_input(s);
    else if (buf_len(&s->input) > 0)
        event_add(s->writable, NULL);
    link_shell_wake(s->sh);
}

// What nobody reads any more is taken and dropped.
static size_t room(void *run)
{
    const struct shell *s = run;
    size_t wait = buf_len(&s->input);
    return s->in < 0 ? IN_MAX : wait < IN_MAX ? IN_MAX - wait : 0;
}

static void on_input(void *run, const void *p, size_t n)
{
    struct shell *s = run;
    if (s->in < 0)
        return;
    if (n == 0)
        s->input_ended = true;
    buf_append(&s->input, p, n);
    event_add(s->writable, NULL);
}

static void on_signal(void *run, int signo)
{
    struct shell *s = run;
    if (!s->exited)
        kill(-s->pid, signo);
}

// ---- life ---------------------------------------------------------------------------

// It cannot fork while it is stopped; its children go before it, so that they are found.
static void kill_all(struct shell *s)
{
    if (!s->exited) {
        kill(s->pid, SIGSTOP);
        proc_kill_but(s->pid, SIGKILL, NULL, 0);
    }
    if (!s->exited || s->out[0].fd >= 0 || s->out[1].fd >= 0)
        kill(-s->pid, SIGKILL);
}

static void on_gone(void *run)
{
    struct shell *s = run;
    kill_all(s);
    agent_tell_child(s->child, NULL, NULL);
    close_input(s);
    for (int i = 0; i < STREAMS; i++) {
        close_stream(&s->out[i]);
        buf_free(&s->out[i].held);
    }
    buf_free(&s->input);
    s->of->running--;
    free(s);
}

struct pipes {
    int ours[3], theirs[3];
};

static void close_all(int fds[3])
{
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int open_pipes(struct pipes *p, struct err *err)
{
    *p = (struct pipes){{-1, -1, -1}, {-1, -1, -1}};
    for (int i = 0; i < 3; i++) {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) < 0) {
            err_set_errno(err, errno, "no pipe for the command");
            close_all(p->ours);
            close_all(p->theirs);
            return -1;
        }
        p->ours[i] = fds[i == 0 ? 1 : 0];
        p->theirs[i] = fds[i == 0 ? 0 : 1];
        proc_set_nonblock(p->ours[i]);
    }
    return 0;
}

static pid_t spawn(const struct agent_conf *conf, const struct pipes *p,
                   const char *command, const struct strv *env, struct err *err)
{
    STRV_AUTO all = STRV_INIT, argv = STRV_INIT;
    for (size_t i = 0; conf->environ[i] != NULL; i++)
        strv_add(&all, conf->environ[i]);
    for (size_t i = 0; i < env->n; i++)
        strv_putenv(&all, env->v[i]);
    // The home may be on a file system that hangs: the shell goes there, not the agent.
    strv_add(&argv, "sh");
    strv_add(&argv, "-c");
    strv_add(&argv, "cd \"${HOME:-/}\" 2>/dev/null; exec /bin/sh ${1+-c \"$1\" sh}");
    strv_add(&argv, "sh");
    if (command != NULL)
        strv_add(&argv, command);
    struct proc_fd fds[] = {{p->theirs[0], 0}, {p->theirs[1], 1}, {p->theirs[2], 2}};
    struct proc_spec spec = {.path = "/bin/sh",
                             .argv = argv.v,
                             .envp = all.v,
                             .dir = "/",
                             .fds = fds,
                             .nfds = 3,
                             .own_session = true};
    return proc_spawn(&spec, err);
}

static void *start(void *server_arg, struct link_shell *sh, const char *command,
                   const struct strv *env, struct err *err)
{
    struct shells *of = server_arg;
    const struct agent_conf *conf = agent_conf(of->agent);
    struct pipes p;
    if (of->running >= SHELLS_MAX) {
        err_set(err, "%d commands run here already, no more are taken", SHELLS_MAX);
        return NULL;
    }
    if (open_pipes(&p, err) < 0)
        return NULL;
    pid_t pid = spawn(conf, &p, command, env, err);
    close_all(p.theirs);
    if (pid < 0) {
        close_all(p.ours);
        return NULL;
    }
    struct shell *s = xcalloc(1, sizeof *s);
    *s = (struct shell){.of = of, .sh = sh, .pid = pid, .in = p.ours[0]};
    s->writable = event_new(conf->base, s->in, EV_WRITE, on_writable, s);
    for (int i = 0; i < STREAMS; i++) {
        struct stream *st = &s->out[i];
        *st = (struct stream){.shell = s, .number = i + 1, .fd = p.ours[i + 1]};
        st->readable =
            event_new(conf->base, st->fd, EV_READ | EV_PERSIST, on_readable, st);
        event_add(st->readable, NULL);
    }
    s->child = agent_watch_child(of->agent, pid, on_exit_of, s);
    of->running++;
    log_debug(conf->log, "pid %d runs for an ssh client", (int)pid);
    return s;
}

const struct link_shell_ops *shells_ops(void)
{
    static const struct link_shell_ops ops = {.start = start,
                                              .room = room,
                                              .input = on_input,
                                              .drained = on_drained,
                                              .signal = on_signal,
                                              .gone = on_gone};
    return &ops;
}

struct shells *shells_create(struct agent *a)
{
    struct shells *s = xcalloc(1, sizeof *s);
    s->agent = a;
    return s;
}

void shells_destroy(struct shells *s)
{
    free(s);
}
