// A role is a job: a launcher of its own (a child), members, world, restarts. What the roles
// share is one document (roles.h), which is kept here:
//
//   role's launcher -- ROLES: its part --> here: roles_set() -- ROLES: the document --> all
//   (restart-scope job) a role is in a higher generation --> here -- FAILED --> the others
// The first role that fails ends the run: the others get SIGTERM. All of them end with this
// process, and it ends as the launcher of the role did: by a signal, where that was killed, so that
// who starts launchers again (musterd --lead) takes all roles up where they were.
#include "launcher/cmd_roles.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/std.h"
#include "launcher/opts_layout.h"
#include "launcher/roles.h"
#include "launcher/verdict.h"
#include "wire/chan.h"
#include "wire/msg.h"

enum { LAST_WORD_MS = 1000, CHILD_FD = 3 };

struct role {
    struct run *run;
    size_t index;
    const char *name;
    pid_t pid; // 0: it has ended
    struct chan *chan;
};

struct run {
    const struct opts *opts;
    char **argv;
    struct event_base *base;
    struct roles *roles;
    struct role *v;
    size_t n, left;      // that run
    int code;            // of the first that failed
    int signo;           // that its launcher was killed by; 0: none
    uint32_t generation; // the highest that a role is in
    struct event *signals[8];
    size_t nsignals;
};

// ---- what a role's launcher is started with -------------------------------------------

static void add_words(struct strv *out, char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strv_add(out, words[i]);
}

// What all have, up to the first program; the "--" before it is put back later.
static void add_common(const struct run *r, struct strv *out)
{
    size_t n = (size_t)(r->opts->argv - r->argv);
    if (n > 1 && strcmp(r->argv[n - 1], "--") == 0)
        n--;
    add_words(out, r->argv + 1, n - 1);
}

// What the first role says of these stands among what all have.
static void add_own_layout(const struct run *r, const struct app_opts *app,
                           struct strv *out)
{
    if (app->ranks > 0) {
        strv_add(out, "-n");
        strv_addf(out, "%u", app->ranks);
    }
    if (r->opts->apps.v[0].has_grid && !app->has_grid)
        strv_add(out, "--grid=");
    strv_addf(out, "--spares=%u", app->spares);
}

static void add_status(const struct run *r, size_t i, struct strv *out)
{
    CLEANUP_FREE char *where = NULL;
    if (r->opts->status == NULL)
        return;
    where = roles_opts_status(r->opts->status, i, NULL); // it was checked
    strv_addf(out, "--status=%s", where);
}

// Of what there is one for the run, each role has one of its own name.
static void add_own_names(const struct run *r, const char *role, struct strv *out)
{
    const struct opts *o = r->opts;
    if (o->job != NULL) {
        strv_add(out, "--job");
        strv_addf(out, "%s:%s", o->job, role);
    }
    if (o->events != NULL && strcmp(o->events, "-") != 0) {
        strv_add(out, "--events");
        strv_addf(out, "%s.%s", o->events, role);
    }
    if (o->output.dir != NULL) {
        strv_add(out, "--output");
        strv_addf(out, "%s/%s", o->output.dir, role);
    }
}

static void make_argv(const struct run *r, size_t i, uint32_t from, uint32_t to,
                      struct strv *out)
{
    const struct app_opts *app = &r->opts->apps.v[i];
    strv_add(out, "muster");
    strv_add(out, "run");
    add_common(r, out);
    add_words(out, app->words, app->nwords);
    add_own_layout(r, app, out);
    add_status(r, i, out);
    strv_add(out, "--role-part");
    strv_addf(out, "%u,%u,%d", from, to, CHILD_FD);
    strv_add(out, "--stdin");
    strv_add(out, "none");
    add_own_names(r, app->role, out);
    strv_add(out, "--");
    add_words(out, app->argv, app->argc);
}

// ---- the document ---------------------------------------------------------------------

static void tell_all(const struct run *r)
{
    CLEANUP_FREE char *text = roles_text(r->roles);
    struct frame f = {.kind = FRAME_ROLES};
    Muster__Roles m = MUSTER__ROLES__INIT;
    m.file.data = (uint8_t *)text;
    m.file.len = strlen(text);
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].pid > 0)
            chan_send_msg(r->v[i].chan, &f, &m.base);
}

static void restart_others(const struct run *r, const struct role *first)
{
    CLEANUP_FREE char *text =
        xasprintf("role %s starts again, and all others with it (--restart-scope job)",
                  first->name);
    struct frame f = {.kind = FRAME_FAILED};
    Muster__Failed m = MUSTER__FAILED__INIT;
    m.text = text;
    m.generation = r->generation;
    for (size_t i = 0; i < r->n; i++)
        if (&r->v[i] != first && r->v[i].pid > 0)
            chan_send_msg(r->v[i].chan, &f, &m.base);
}

static void on_frame(void *arg, const struct frame *f)
{
    struct role *role = arg;
    struct run *r = role->run;
    Muster__Roles *m =
        f->kind == FRAME_ROLES ? msg_unpack(f, &muster__roles__descriptor, NULL) : NULL;
    if (m == NULL)
        return;
    if (roles_set(r->roles, role->index, (const char *)m->file.data, m->file.len) &&
        roles_are_whole(r->roles))
        tell_all(r);
    if (m->generation > r->generation) {
        r->generation = m->generation;
        if (r->opts->roles.whole_job)
            restart_others(r, role);
    }
    msg_free(m);
}

static void on_closed(void *arg, const struct err *why)
{
    // Its exit says more.
}

// ---- processes --------------------------------------------------------------------------

static int start(struct role *role, const char *path, struct strv *argv,
                 struct err *err)
{
    static const struct chan_ops ops = {on_frame, on_closed};
    CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int sv[2];
    if (null < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0) {
        err_set_errno(err, errno, "the launcher of role %s", role->name);
        return -1;
    }
    struct proc_fd fds[] = {{null, 0}, {sv[1], CHILD_FD}};
    // A group of its own: the terminal's Ctrl-C is for this process alone.
    struct proc_spec spec = {.path = path,
                             .argv = argv->v,
                             .envp = environ,
                             .fds = fds,
                             .nfds = 2,
                             .own_group = true,
                             .death_signal = SIGTERM};
    pid_t pid = proc_spawn(&spec, err);
    close(sv[1]);
    if (pid < 0) {
        close(sv[0]);
        return -1;
    }
    role->pid = pid;
    role->chan = chan_create(role->run->base, sv[0], sv[0], &ops, role);
    role->run->left++;
    return 0;
}

static int start_all(struct run *r, struct err *err)
{
    const struct opts *o = r->opts;
    CLEANUP_FREE uint32_t *from = xcalloc(r->n, sizeof *from);
    CLEANUP_FREE uint32_t *to = xcalloc(r->n, sizeof *to);
    CLEANUP_FREE char *path = proc_self();
    bool local = o->source.kind == SOURCE_LOCAL; // all roles have this one member
    if (!local && roles_opts_share(&o->apps, opts_layout_each(o), from, to, err) < 0)
        return -1;
    if (o->output.dir != NULL && mkdir(o->output.dir, 0777) < 0 && errno != EEXIST) {
        err_set_errno(err, errno, "--output %s", o->output.dir);
        return -1;
    }
    for (size_t i = 0; i < r->n; i++) {
        STRV_AUTO argv = STRV_INIT;
        make_argv(r, i, from[i], local && o->apps.v[i].ranks > 0 ? 1 : to[i], &argv);
        if (start(&r->v[i], path, &argv, err) < 0)
            return -1;
    }
    return 0;
}

static void signal_all(const struct run *r, int signo)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].pid > 0)
            kill(r->v[i].pid, signo);
}

static void say(const char *text)
{
    CLEANUP_FREE char *line = xasprintf("muster: %s\n", text);
    std_write(STDERR_FILENO, line, strlen(line), LAST_WORD_MS);
}

// The first failure is the run's; a role that ends well leaves the others alone.
static void note_end(struct role *role, int status)
{
    struct run *r = role->run;
    role->pid = 0;
    r->left--;
    if (status == 0 || r->code != 0)
        return;
    r->code = proc_status_code(status);
    r->signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (r->left == 0)
        return;
    CLEANUP_FREE char *how = proc_status_text(status);
    CLEANUP_FREE char *text = xasprintf(
        "role %s ended with %s: the other roles are stopped", role->name, how);
    say(text);
    signal_all(r, SIGTERM);
}

static void on_child(evutil_socket_t fd, short what, void *arg)
{
    struct run *r = arg;
    for (size_t i = 0; i < r->n; i++) {
        int status;
        if (r->v[i].pid > 0 && waitpid(r->v[i].pid, &status, WNOHANG) == r->v[i].pid)
            note_end(&r->v[i], status);
    }
    if (r->left == 0)
        event_base_loopbreak(r->base);
}

static void on_signal(evutil_socket_t signo, short what, void *arg)
{
    signal_all(arg, (int)signo);
}

static void watch(struct run *r, int signo, event_callback_fn fn)
{
    struct event *ev = evsignal_new(r->base, signo, fn, r);
    event_add(ev, NULL);
    r->signals[r->nsignals++] = ev;
}

static void watch_all(struct run *r)
{
    static const int passed_on[] = {SIGINT,  SIGTERM, SIGHUP, SIGUSR1,
                                    SIGUSR2, SIGTSTP, SIGCONT};
    watch(r, SIGCHLD, on_child);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        watch(r, passed_on[i], on_signal);
}

static void create(struct run *r)
{
    CLEANUP_FREE const char **names = xcalloc(r->n, sizeof *names);
    r->base = loop_create();
    r->v = xcalloc(r->n, sizeof *r->v);
    for (size_t i = 0; i < r->n; i++) {
        names[i] = r->opts->apps.v[i].role;
        r->v[i] = (struct role){.run = r, .index = i, .name = names[i]};
    }
    r->roles = roles_create(names, r->n);
}

static void destroy(struct run *r)
{
    for (size_t i = 0; i < r->nsignals; i++)
        event_free(r->signals[i]);
    for (size_t i = 0; i < r->n; i++)
        chan_destroy(r->v[i].chan);
    roles_destroy(r->roles);
    loop_destroy(r->base);
    free(r->v);
}

// The core, if there is one, is that of who crashed.
static void die_of(int signo)
{
    prctl(PR_SET_DUMPABLE, 0);
    signal(signo, SIG_DFL);
    raise(signo);
}

int cmd_roles(const struct opts *o, char **argv)
{
    struct run r = {.opts = o, .argv = argv, .n = o->apps.n};
    ERR_AUTO err = ERR_INIT;
    signal(SIGPIPE, SIG_IGN);
    create(&r);
    watch_all(&r);
    if (start_all(&r, &err) < 0) {
        say(err_text(&err));
        r.code = VERDICT_OWN_FAILURE;
        signal_all(&r, SIGTERM);
    }
    if (r.left > 0)
        event_base_dispatch(r.base);
    destroy(&r);
    if (r.signo != 0)
        die_of(r.signo);
    return r.code;
}
