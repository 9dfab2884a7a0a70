// A queue of orders, and one inspector.
#include "agent/inspect.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/agent.h"
#include "agent/inspector.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/strv.h"
#include "wire/chan.h"
#include "wire/msg.h"

enum {
    MARGIN_MS = 5000,  // above the inspector's own bounds, until it is killed
    CHECKS_LIKELY = 4, // of an order that names none
};

enum state { IDLE, RUNNING, ENDING };

struct inspect_order {
    struct inspect *of;
    Muster__Inspect *msg;
    inspect_done_fn done;
    void *arg;
    struct inspect_order *prev, *next;
};

struct inspect {
    struct agent *agent;
    enum state state;
    struct inspect_order *waiting; // utlist
    struct inspect_order *running; // NULL: none, or nobody wants its verdict any more
    pid_t pid;
    struct agent_child *child; // NULL: it has ended,
    int status;                // with this one of waitpid's
    struct chan *chan;         // NULL: closed
    Muster__Verdict *verdict;  // that came; NULL
    char *why;                 // none came: why not; NULL: not known
    struct event *bound;
    struct event *soon; // what is not done inside of callbacks
};

static struct log *log_of(const struct inspect *i)
{
    return agent_conf(i->agent)->log;
}

static void enter(struct inspect *i, enum state to)
{
    static const char *const names[] = {"idle", "running", "ending"};
    log_debug(log_of(i), "inspection: %s -> %s", names[i->state], names[to]);
    i->state = to;
}

static void order_free(struct inspect_order *o)
{
    msg_free(o->msg);
    free(o);
}

// ---- its end ----------------------------------------------------------------------

// For an inspection that came to nothing: that says nothing against the machine.
static void tell_nothing(struct inspect_order *o, const char *why)
{
    Muster__Verdict v = MUSTER__VERDICT__INIT;
    Muster__CheckEnd end = MUSTER__CHECK_END__INIT, *ends[] = {&end};
    CLEANUP_FREE char *text = xstrdup(why);
    end.error = text;
    v.number = o->msg->number;
    v.ends = ends;
    v.n_ends = 1;
    o->done(o->arg, &v);
}

static void tell(struct inspect *i)
{
    struct inspect_order *o = STEAL(i->running);
    if (o == NULL)
        return;
    if (i->verdict != NULL)
        o->done(o->arg, i->verdict);
    else
        tell_nothing(o, i->why != NULL ? i->why : "its inspector gave no verdict");
    order_free(o);
}

static void forget(struct inspect *i)
{
    msg_free(STEAL(i->verdict));
    free(STEAL(i->why));
}

// Its process has ended, and all that it said was read.
static void end(struct inspect *i)
{
    loop_timer_disarm(i->bound);
    if (i->status != 0) // else it has killed all that it had started
        agent_kill_strays(i->agent);
    enter(i, IDLE);
    tell(i);
    forget(i);
    agent_look_again(i->agent);
}

static void look(struct inspect *i)
{
    if (i->state != IDLE && i->child == NULL && i->chan == NULL)
        loop_timer_arm(i->soon, 0);
}

static void hang_up(struct inspect *i)
{
    chan_destroy(i->chan);
    i->chan = NULL;
}

static void on_child_gone(void *arg, int status)
{
    struct inspect *i = arg;
    i->child = NULL;
    i->status = status;
    if (status != 0 && i->why == NULL) {
        CLEANUP_FREE char *how = proc_status_text(status);
        i->why = xasprintf("its inspector (pid %d) ended with %s", (int)i->pid, how);
    }
    look(i);
}

static void on_closed(void *arg, const struct err *why)
{
    struct inspect *i = arg;
    hang_up(i);
    look(i);
}

static void on_frame(void *arg, const struct frame *f)
{
    struct inspect *i = arg;
    if (f->kind == FRAME_VERDICT && i->verdict == NULL)
        i->verdict = msg_unpack(f, &muster__verdict__descriptor, NULL);
}

static void on_bound(evutil_socket_t fd, short what, void *arg)
{
    struct inspect *i = arg;
    if (i->child == NULL)
        return;
    log_warn(log_of(i), "the inspector (pid %d) does not end: it is killed",
             (int)i->pid);
    if (i->why == NULL)
        i->why = xstrdup("its inspector did not answer in time, and was killed");
    kill(i->pid, SIGKILL);
    hang_up(i);
    enter(i, ENDING);
}

// ---- its begin ----------------------------------------------------------------------

static int spawn(struct inspect *i, int theirs, struct err *err)
{
    STRV_AUTO argv = STRV_INIT;
    strv_add(&argv, "musterd");
    strv_add(&argv, "inspector");
    const struct proc_fd fds[] = {{theirs, 3}};
    const struct proc_spec spec = {.path = "/proc/self/exe",
                                   .argv = argv.v,
                                   .envp = agent_conf(i->agent)->environ,
                                   .fds = fds,
                                   .nfds = 1,
                                   .own_session = true};
    i->pid = proc_spawn(&spec, err);
    return i->pid > 0 ? 0 : -1;
}

static uint64_t bound_ms(const Muster__Inspect *m)
{
    size_t n = m->n_checks > 0 ? m->n_checks : CHECKS_LIKELY;
    return n * ((uint64_t)m->timeout_ms + INSPECTOR_KILL_MS) + MARGIN_MS;
}

static int start(struct inspect *i, struct err *err)
{
    static const struct chan_ops ops = {on_frame, on_closed};
    const struct frame f = {.kind = FRAME_INSPECT};
    const Muster__Inspect *m = i->running->msg;
    int sv[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0) {
        err_set_errno(err, errno, "no socket for an inspector");
        return -1;
    }
    int rc = spawn(i, sv[1], err);
    close(sv[1]);
    if (rc < 0) {
        close(sv[0]);
        return -1;
    }
    i->child = agent_watch_child(i->agent, i->pid, on_child_gone, i);
    i->chan = chan_create(agent_conf(i->agent)->base, sv[0], sv[0], &ops, i);
    chan_send_msg(i->chan, &f, &m->base);
    loop_timer_arm(i->bound, bound_ms(m));
    enter(i, RUNNING);
    return 0;
}

static void start_next(struct inspect *i)
{
    ERR_AUTO err = ERR_INIT;
    while (i->state == IDLE && i->waiting != NULL) {
        i->running = i->waiting;
        DL_DELETE(i->waiting, i->running);
        if (start(i, &err) == 0)
            continue;
        i->why = xstrdup(err_text(&err));
        tell(i);
        forget(i);
    }
}

static void on_soon(evutil_socket_t fd, short what, void *arg)
{
    struct inspect *i = arg;
    if (i->state != IDLE && i->child == NULL && i->chan == NULL)
        end(i);
    start_next(i);
}

struct inspect_order *inspect_add(struct inspect *i, Muster__Inspect *m,
                                  inspect_done_fn done, void *arg)
{
    struct inspect_order *o = xcalloc(1, sizeof *o);
    *o = (struct inspect_order){.of = i, .msg = m, .done = done, .arg = arg};
    DL_APPEND(i->waiting, o);
    loop_timer_arm(i->soon, 0);
    return o;
}

void inspect_cancel(struct inspect_order *o)
{
    if (o == NULL)
        return;
    struct inspect *i = o->of;
    if (o == i->running) {
        i->running = NULL;
        hang_up(i);
        loop_timer_arm(i->bound, INSPECTOR_KILL_MS + MARGIN_MS);
        enter(i, ENDING);
        look(i);
    } else {
        DL_DELETE(i->waiting, o);
    }
    order_free(o);
}

void inspect_refuse(struct inspect_order *o, const char *why)
{
    tell_nothing(o, why);
    inspect_cancel(o);
}

bool inspect_is_ending(const struct inspect *i)
{
    return i->state == ENDING;
}

// ---- life -----------------------------------------------------------------------------

struct inspect *inspect_create(struct agent *a)
{
    struct inspect *i = xcalloc(1, sizeof *i);
    i->agent = a;
    i->bound = loop_timer(agent_conf(a)->base, on_bound, i);
    i->soon = loop_timer(agent_conf(a)->base, on_soon, i);
    return i;
}

// The agent waits for its children; what the inspector has started goes with its socket.
void inspect_destroy(struct inspect *i)
{
    struct inspect_order *o, *tmp;
    if (i == NULL)
        return;
    DL_FOREACH_SAFE (i->waiting, o, tmp)
        order_free(o);
    if (i->running != NULL)
        order_free(i->running);
    agent_tell_child(i->child, NULL, NULL);
    hang_up(i);
    msg_free(i->verdict);
    free(i->why);
    loop_timer_free(i->bound);
    loop_timer_free(i->soon);
    free(i);
}
