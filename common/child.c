// Start, limit, reap.
#include "common/child.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child_output.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/strv.h"

enum { GRACE_MS = 5000 }; // after SIGTERM, and after SIGKILL until that is said

enum state { CHILD_IDLE, CHILD_RUNNING, CHILD_TERM, CHILD_KILLED };

struct child {
    struct child_conf conf;
    char *name; // of its lines in the log
    char *path;
    enum state state;
    pid_t pid; // 0: none
    struct event *signal, *timer;
    struct child_output *output; // NULL: nothing runs
};

static void enter(struct child *c, enum state to)
{
    static const char *const names[] = {"idle", "running", "term", "killed"};
    log_debug(c->conf.log, "%s: %s -> %s", c->conf.role, names[c->state], names[to]);
    c->state = to;
    if (to == CHILD_IDLE)
        loop_timer_disarm(c->timer);
    else
        loop_timer_arm(c->timer, to == CHILD_RUNNING ? c->conf.limit_ms : GRACE_MS);
}

// ---- starting ---------------------------------------------------------------------

static pid_t spawn(const struct child *c, int in, int out, char *const *env,
                   struct err *err)
{
    STRV_AUTO all = STRV_INIT;
    char *argv[] = {c->path, NULL};
    const struct proc_fd fds[] = {{in, 0}, {out, 1}, {out, 2}};
    for (char **e = environ; *e != NULL; e++)
        strv_add(&all, *e);
    for (char *const *e = env; *e != NULL; e++)
        strv_putenv(&all, *e);
    const struct proc_spec spec = {.path = c->path,
                                   .argv = argv,
                                   .envp = all.v,
                                   .fds = fds,
                                   .nfds = 3,
                                   .own_group = true,
                                   .death_signal = SIGKILL};
    return proc_spawn(&spec, err);
}

int child_start(struct child *c, int in, char *const *env, struct err *err)
{
    int out[2];
    CLEANUP_CLOSE int nothing = in < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (pipe2(out, O_CLOEXEC) < 0) {
        err_set_errno(err, errno, "no pipe for its output");
        return -1;
    }
    pid_t pid = spawn(c, in < 0 ? nothing : in, out[1], env, err);
    close(out[1]);
    if (pid < 0) {
        close(out[0]);
        return -1;
    }
    c->pid = pid;
    c->output =
        child_output_create(c->conf.base, out[0], c->conf.log, c->conf.level, c->name);
    enter(c, CHILD_RUNNING);
    return 0;
}

// ---- ending -----------------------------------------------------------------------

static void signal_group(const struct child *c, int signo)
{
    kill(-c->pid, signo);
}

static void take_end(struct child *c, int status)
{
    bool late = c->state != CHILD_RUNNING;
    bool well = !late && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    CLEANUP_FREE char *text = proc_status_text(status);
    CLEANUP_FREE char *how =
        xasprintf("%s%s", text, late ? ", ended since it took too long" : "");
    child_output_end(c->output); // what it printed last
    c->output = NULL;
    c->pid = 0;
    enter(c, CHILD_IDLE);
    c->conf.ended(c->conf.arg, well, how);
}

static void on_timer(int fd, short what, void *arg)
{
    struct child *c = arg;
    bool first = c->state == CHILD_RUNNING;
    if (c->state == CHILD_KILLED) {
        log_warn(c->conf.log,
                 "%s (pid %d) does not end after SIGKILL: no other is started until it "
                 "does",
                 c->name, (int)c->pid);
        return;
    }
    signal_group(c, first ? SIGTERM : SIGKILL);
    enter(c, first ? CHILD_TERM : CHILD_KILLED);
}

static bool has_ended(const struct child *c)
{
    siginfo_t info = {0};
    return c->pid > 0 &&
           waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == c->pid;
}

// What is in its group goes with it.
static void reap_own(struct child *c)
{
    int status;
    if (!has_ended(c))
        return;
    signal_group(c, SIGKILL);
    if (waitpid(c->pid, &status, WNOHANG) == c->pid)
        take_end(c, status);
}

static void on_signal(evutil_socket_t signo, short what, void *arg)
{
    struct child *c = arg;
    siginfo_t info = {0};
    reap_own(c);
    while (c->conf.reaps && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0) {
        if (info.si_pid == c->pid)
            reap_own(c);
        else
            waitpid(info.si_pid, NULL, WNOHANG);
        info.si_pid = 0;
    }
}

// ---- life -------------------------------------------------------------------------

struct child *child_create(const struct child_conf *conf, struct err *err)
{
    char *path = proc_resolve(conf->program, getenv("PATH"), NULL, err);
    if (path == NULL) {
        err_prefix(err, "--%s %s", conf->role, conf->program);
        return NULL;
    }
    struct child *c = xcalloc(1, sizeof *c);
    c->conf = *conf;
    c->path = path;
    c->name = xasprintf("%s: %s", conf->role, conf->program);
    c->timer = loop_timer(conf->base, on_timer, c);
    c->signal = evsignal_new(conf->base, SIGCHLD, on_signal, c);
    event_add(c->signal, NULL);
    return c;
}

void child_destroy(struct child *c)
{
    if (c == NULL)
        return;
    if (c->pid > 0)
        signal_group(c, SIGKILL);
    child_output_end(c->output);
    event_free(c->signal);
    loop_timer_free(c->timer);
    free(c->name);
    free(c->path);
    free(c);
}

bool child_is_idle(const struct child *c)
{
    return c->state == CHILD_IDLE;
}
