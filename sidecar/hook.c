// One child at a time.
#include "sidecar/hook.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "sidecar/change.h"
#include "sidecar/hook_output.h"

enum { GRACE_MS = 5000 }; // after SIGTERM, and after SIGKILL until that is said

enum state { HOOK_IDLE, HOOK_RUNNING, HOOK_TERM, HOOK_KILLED };

enum what { HOOK_TOLD, HOOK_ENDED, HOOK_LATE };

struct hook {
    struct hook_conf conf;
    char *path;
    enum state state;
    pid_t pid; // 0: none
    struct event *child, *timer;
    struct hook_output *output; // NULL: nothing runs
    struct members was, is;     // what it was told, what it is to be told
    uint64_t generation;        // of `is`
    struct hook_status count;   // with the generation of `was`
};

static void step(struct hook *h, enum what what);

// ---- starting ---------------------------------------------------------------------

// A file that holds the text, to be read from its beginning; a pipe would have to be filled
// while the program reads.
static int text_file(const struct buf *text, struct err *err)
{
    CLEANUP_CLOSE int fd = memfd_create("muster-change", MFD_CLOEXEC);
    for (size_t at = 0; fd >= 0 && at < buf_len(text);) {
        ssize_t n = write(fd, buf_data(text) + at, buf_len(text) - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
        if (at == buf_len(text) && lseek(fd, 0, SEEK_SET) == 0)
            return mem_steal_fd(&fd);
    }
    err_set_errno(err, errno, "the difference cannot be handed over");
    return -1;
}

static int spawn(struct hook *h, const struct change *c, struct err *err)
{
    BUF_AUTO json = BUF_INIT;
    STRV_AUTO env = STRV_INIT;
    int out[2];
    char *argv[] = {h->path, NULL};
    change_json(c, h->generation, &json);
    for (char **e = environ; *e != NULL; e++)
        strv_add(&env, *e);
    change_env(c, h->generation, &env);
    CLEANUP_CLOSE int in = text_file(&json, err);
    if (in < 0)
        return -1;
    if (pipe2(out, O_CLOEXEC) < 0) {
        err_set_errno(err, errno, "no pipe for its output");
        return -1;
    }
    const struct proc_fd fds[] = {{in, 0}, {out[1], 1}, {out[1], 2}};
    const struct proc_spec spec = {.path = h->path,
                                   .argv = argv,
                                   .envp = env.v,
                                   .fds = fds,
                                   .nfds = 3,
                                   .own_group = true,
                                   .death_signal = SIGKILL};
    h->pid = proc_spawn(&spec, err);
    close(out[1]);
    if (h->pid < 0) {
        h->pid = 0;
        close(out[0]);
        return -1;
    }
    h->output = hook_output_create(h->conf.base, out[0], h->conf.log, h->conf.program);
    return 0;
}

static void enter(struct hook *h, enum state to)
{
    static const char *const names[] = {"idle", "running", "term", "killed"};
    log_debug(h->conf.log, "on-change: %s -> %s", names[h->state], names[to]);
    h->state = to;
    if (to == HOOK_IDLE)
        loop_timer_disarm(h->timer);
    else
        loop_timer_arm(h->timer, to == HOOK_RUNNING ? h->conf.limit_ms : GRACE_MS);
}

// What it was not told yet, if anything.
static void start(struct hook *h)
{
    ERR_AUTO err = ERR_INIT;
    struct change c;
    change_find(&h->was, &h->is, &c);
    if (change_is_empty(&c))
        return;
    int rc = spawn(h, &c, &err);
    h->count.runs += rc == 0 ? 1 : 0;
    h->count.generation = h->generation;
    members_copy(&h->was, &h->is);
    if (rc == 0) {
        enter(h, HOOK_RUNNING);
        return;
    }
    h->count.failures++;
    log_warn(h->conf.log, "on-change: %s: %s", h->conf.program, err_text(&err));
}

// ---- ending -----------------------------------------------------------------------

static void signal_group(const struct hook *h, int signo)
{
    kill(-h->pid, signo);
}

static void take_end(struct hook *h, int status)
{
    CLEANUP_FREE char *how = proc_status_text(status);
    hook_output_end(h->output); // what it printed last
    h->output = NULL;
    h->pid = 0;
    bool late = h->state != HOOK_RUNNING;
    if (late || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        h->count.failures++;
        log_warn(h->conf.log, "on-change: %s: %s%s (generation %llu)", h->conf.program,
                 how, late ? ", ended since it took too long" : "",
                 (unsigned long long)h->count.generation);
    }
}

// What is in its group goes with it.
static bool has_ended(struct hook *h)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == h->pid;
}

static void go_on_ending(struct hook *h)
{
    if (h->state == HOOK_KILLED) {
        log_warn(h->conf.log,
                 "on-change: %s (pid %d) does not end after SIGKILL: no other is "
                 "started until it does",
                 h->conf.program, (int)h->pid);
        return;
    }
    bool first = h->state == HOOK_RUNNING;
    signal_group(h, first ? SIGTERM : SIGKILL);
    enter(h, first ? HOOK_TERM : HOOK_KILLED);
}

static void on_child(evutil_socket_t signo, short what, void *arg)
{
    struct hook *h = arg;
    int status;
    pid_t pid;
    do {
        if (h->pid > 0 && has_ended(h))
            signal_group(h, SIGKILL);
        pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0 && pid == h->pid) {
            take_end(h, status);
            step(h, HOOK_ENDED);
        }
    } while (pid > 0);
}

static void on_timer(int fd, short what, void *arg)
{
    step(arg, HOOK_LATE);
}

static void step(struct hook *h, enum what what)
{
    switch (what) {
    case HOOK_ENDED: enter(h, HOOK_IDLE); /* fall through */
    case HOOK_TOLD:
        if (h->state == HOOK_IDLE)
            start(h);
        return;
    case HOOK_LATE: go_on_ending(h); return;
    }
}

// ---- life -------------------------------------------------------------------------

struct hook *hook_create(const struct hook_conf *conf, struct err *err)
{
    char *path = proc_resolve(conf->program, getenv("PATH"), NULL, err);
    if (path == NULL) {
        err_prefix(err, "--on-change %s", conf->program);
        return NULL;
    }
    struct hook *h = xcalloc(1, sizeof *h);
    h->conf = *conf;
    h->path = path;
    h->timer = loop_timer(conf->base, on_timer, h);
    h->child = evsignal_new(conf->base, SIGCHLD, on_child, h);
    event_add(h->child, NULL);
    return h;
}

void hook_destroy(struct hook *h)
{
    if (h == NULL)
        return;
    if (h->pid > 0)
        signal_group(h, SIGKILL);
    hook_output_end(h->output);
    event_free(h->child);
    loop_timer_free(h->timer);
    members_free(&h->was);
    members_free(&h->is);
    free(h->path);
    free(h);
}

void hook_tell(struct hook *h, const struct members *members, uint64_t generation)
{
    if (generation == h->generation)
        return;
    h->generation = generation;
    members_copy(&h->is, members);
    step(h, HOOK_TOLD);
}

void hook_status(const struct hook *h, struct hook_status *out)
{
    *out = h->count;
    out->running = h->state != HOOK_IDLE;
}
