// The agent of a pod: sessions, children and what is shared.
#include "agent/agent.h"

#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/handoff.h"
#include "agent/inspect.h"
#include "agent/master_port.h"
#include "agent/record.h"
#include "agent/session.h"
#include "agent/shell.h"
#include "agent/warm.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "wire/agent_files.h"

enum { KEEPERS_BOUND_MS = 8000 };

struct agent_child {
    pid_t pid;
    agent_child_fn gone;
    void *arg;
    struct agent_child *prev, *next;
};

struct hold {
    struct session *session;
    struct hold *prev, *next;
};

struct agent {
    struct agent_conf conf;
    struct link_server *server;
    struct shells *shells;
    struct hold *sessions;
    struct agent_child *children;
    struct master_port *ports;
    struct warm *warm;
    struct records *records;
    struct handoff *handoff;
    struct inspect *inspect;
    struct event *sigchld;
    char *pmixd;
    bool terminating;
};

const struct agent_conf *agent_conf(const struct agent *a)
{
    return &a->conf;
}

struct master_port *agent_master_port(struct agent *a)
{
    return a->ports;
}

const char *agent_pmixd(const struct agent *a)
{
    return a->pmixd;
}

struct warm *agent_warm(struct agent *a)
{
    return a->warm;
}

struct records *agent_records(struct agent *a)
{
    return a->records;
}

struct handoff *agent_handoff(struct agent *a)
{
    return a->handoff;
}

struct inspect *agent_inspect(struct agent *a)
{
    return a->inspect;
}

// ---- children --------------------------------------------------------------------

struct agent_child *agent_watch_child(struct agent *a, pid_t pid, agent_child_fn gone,
                                      void *arg)
{
    struct agent_child *c = xcalloc(1, sizeof *c);
    c->pid = pid;
    c->gone = gone;
    c->arg = arg;
    DL_APPEND(a->children, c);
    return c;
}

void agent_tell_child(struct agent_child *c, agent_child_fn gone, void *arg)
{
    if (c == NULL)
        return;
    c->gone = gone; // NULL: still ours to reap, and no stray
    c->arg = arg;
}

static void reap(struct agent *a)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        struct agent_child *c, *tmp;
        DL_FOREACH_SAFE (a->children, c, tmp) {
            if (c->pid != pid)
                continue;
            DL_DELETE(a->children, c);
            if (c->gone != NULL)
                c->gone(c->arg, status);
            free(c);
        }
    }
}

static void on_sigchld(evutil_socket_t signo, short what, void *arg)
{
    reap(arg);
}

// Pids of the children; the caller frees.
static pid_t *known_children(const struct agent *a, size_t *n)
{
    struct agent_child *c;
    *n = 0;
    DL_FOREACH (a->children, c)
        ++*n;
    pid_t *known = xcalloc(*n, sizeof *known);
    *n = 0;
    DL_FOREACH (a->children, c)
        known[(*n)++] = c->pid;
    return known;
}

size_t agent_kill_strays(struct agent *a)
{
    size_t n;
    CLEANUP_FREE pid_t *known = known_children(a, &n);
    size_t killed = proc_kill_but(getpid(), SIGKILL, known, n);
    reap(a);
    return killed;
}

void agent_name_strays(const struct agent *a, struct strv *names)
{
    size_t n;
    CLEANUP_FREE pid_t *known = known_children(a, &n);
    proc_name_but(getpid(), known, n, names);
}

// ---- sessions ----------------------------------------------------------------------

static struct session *new_session(struct agent *a)
{
    struct hold *h = xcalloc(1, sizeof *h);
    h->session = session_create(a);
    DL_APPEND(a->sessions, h);
    return h->session;
}

bool agent_is_held(const struct agent *a)
{
    const struct hold *h;
    DL_FOREACH (a->sessions, h)
        if (session_is_holding(h->session))
            return true;
    return false;
}

void agent_look_again(struct agent *a)
{
    struct hold *h;
    DL_FOREACH (a->sessions, h)
        session_look_again(h->session);
}

void agent_session_over(struct agent *a, struct session *s)
{
    struct hold *h, *tmp;
    DL_FOREACH_SAFE (a->sessions, h, tmp) {
        if (h->session != s)
            continue;
        DL_DELETE(a->sessions, h);
        free(h);
    }
    session_destroy(s);
    agent_look_again(a);
    if (a->conf.once || (a->terminating && a->sessions == NULL))
        event_base_loopbreak(a->conf.base);
}

bool agent_take_over(struct agent *a, struct session *s)
{
    const struct hold *h;
    DL_FOREACH (a->sessions, h)
        if (session_is_of(h->session, s) && session_compare(s, h->session) < 0)
            return false;
    DL_FOREACH (a->sessions, h)
        if (session_is_of(h->session, s) && session_compare(h->session, s) < 0)
            session_give_way(h->session);
    return true;
}

void agent_depose_others(struct agent *a, const struct session *s)
{
    const struct hold *h;
    DL_FOREACH (a->sessions, h)
        if (session_is_rival(h->session, s))
            session_depose(h->session);
}

bool agent_is_leaving(const struct agent *a, const struct session *s)
{
    const struct hold *h;
    DL_FOREACH (a->sessions, h)
        if ((session_is_of(h->session, s) || session_is_rival(h->session, s)) &&
            session_is_leaving(h->session))
            return true;
    return false;
}

void agent_each_session(struct agent *a, agent_session_fn fn, void *arg)
{
    const struct hold *h;
    DL_FOREACH (a->sessions, h)
        if (!fn(arg, h->session))
            return;
}

static const struct link_ops *on_accept(void *arg, struct link *link, void **link_arg)
{
    struct agent *a = arg;
    if (a->terminating)
        return NULL;
    struct session *s = new_session(a);
    session_own_link(s, link);
    *link_arg = s;
    return session_link_ops();
}

// Of a launcher whose connection was reset, and which has dialled again.
static struct link *find_link(void *arg, const uint8_t *id)
{
    struct agent *a = arg;
    struct hold *h;
    DL_FOREACH (a->sessions, h) {
        struct link *link = session_link(h->session);
        if (link != NULL && link_is_session(link, id))
            return link;
    }
    return NULL;
}

static struct link_conf link_conf_of(const struct agent *a)
{
    return (struct link_conf){.base = a->conf.base,
                              .keys = a->conf.keys,
                              .hello = a->conf.hello,
                              .log = a->conf.log};
}

int agent_listen(struct agent *a, const struct sockaddr *addr, socklen_t len,
                 struct err *err)
{
    struct link_conf conf = link_conf_of(a);
    a->server = link_listen(&conf, addr, len, on_accept, a, err);
    if (a->server == NULL)
        return -1;
    link_server_let_resume(a->server, find_link);
    link_server_serve_shells(a->server, shells_ops(), a->shells);
    if (a->conf.standby)
        warm_begin(a->warm);
    return 0;
}

void agent_serve_fds(struct agent *a, int in, int out)
{
    struct link_conf conf = link_conf_of(a);
    struct session *s = new_session(a);
    session_own_link(s, link_over_fds(&conf, in, out, session_link_ops(), s));
}

void agent_terminate(struct agent *a, const char *name)
{
    struct hold *h;
    if (a->terminating || a->sessions == NULL) {
        event_base_loopbreak(a->conf.base);
        return;
    }
    a->terminating = true;
    CLEANUP_FREE char *why =
        xasprintf("musterd got %s (is the pod being deleted?)", name);
    log_info(a->conf.log, "%s: ranks are stopped", name);
    DL_FOREACH (a->sessions, h)
        session_stop(h->session, why);
}

struct agent *agent_create(const struct agent_conf *conf)
{
    // In the build tree, or where it was installed.
    struct agent *a = xcalloc(1, sizeof *a);
    a->conf = *conf;
    CLEANUP_FREE char *self = proc_self();
    a->pmixd = self != NULL ? agent_files_pmixd(self) : NULL;
    a->ports = master_port_create();
    a->shells = shells_create(a);
    a->warm = warm_create(a);
    a->records = records_create();
    a->inspect = inspect_create(a);
    struct handoff_conf files = {
        .base = conf->base, .log = conf->log, .dir = conf->run_dir, .keep = conf->keep};
    a->handoff = handoff_create(&files);
    // What a killed keeper leaves comes to us, not to the container's pid 1.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    a->sigchld = evsignal_new(conf->base, SIGCHLD, on_sigchld, a);
    event_add(a->sigchld, NULL);
    return a;
}

// Keepers end by themselves when their sockets close; a stuck one is killed.
static void wait_for_keepers(struct agent *a)
{
    uint64_t end = loop_now_ms() + KEEPERS_BOUND_MS;
    struct agent_child *c, *tmp;
    for (reap(a); a->children != NULL && loop_now_ms() < end; reap(a))
        poll(NULL, 0, 2);
    DL_FOREACH_SAFE (a->children, c, tmp) {
        kill(c->pid, SIGKILL);
        DL_DELETE(a->children, c);
        free(c);
    }
}

void agent_destroy(struct agent *a)
{
    struct hold *h, *tmp;
    if (a == NULL)
        return;
    link_server_destroy(a->server);
    DL_FOREACH_SAFE (a->sessions, h, tmp) {
        session_destroy(h->session);
        free(h);
    }
    handoff_destroy(a->handoff);
    warm_destroy(a->warm);
    inspect_destroy(a->inspect);
    wait_for_keepers(a);
    agent_kill_strays(a);
    event_free(a->sigchld);
    master_port_destroy(a->ports);
    shells_destroy(a->shells);
    records_destroy(a->records);
    free(a->pmixd);
    free(a);
}
