// Messages, children and timers become events; entering a state acts.
#include "agent/keeper.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/keeper_kin.h"
#include "agent/keeper_lookup.h"
#include "agent/keeper_ranks.h"
#include "agent/keeper_send.h"
#include "agent/keeper_state.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/strv.h"
#include "wire/chan.h"
#include "wire/msg.h"

enum {
    PAUSE_MAX_MS = 64,
    DRAIN_PAUSE_MS = 5,
    PMIXD_END_MS = 300, // from its SIGTERM until SIGKILL
};

struct keeper {
    struct event_base *base;
    struct log *log;
    struct chan *agent;
    struct keeper_send send;
    struct keeper_ranks *ranks;
    struct event *child, *look;
    struct event *grace; // of the pre-stop, of the ranks, of the PMIx server
    enum keeper_state state;
    pid_t pmixd;        // 0: none
    Muster__Stop stop;  // the last one
    uint64_t stop_ms;   // when the first one came; 0: none did
    uint64_t grace_end; // 0: SIGTERM was not sent
    uint64_t deadline;  // of the killing and of the draining
    unsigned pause;     // ms between two rounds of killing
    size_t left;        // seen by the last round
    struct keeper_proof proof;
    struct err failure; // for FAILED
};

static void on_output(void *arg, uint32_t rank, uint32_t stream, const uint8_t *data,
                      size_t len, bool eof)
{
    const struct keeper *k = arg;
    keeper_send_output(&k->send, rank, stream, data, len, eof);
}

static void on_taken(void *arg, uint32_t rank, uint32_t bytes)
{
    struct keeper *k = arg;
    keeper_send_taken(&k->send, rank, bytes);
}

// ---- states -----------------------------------------------------------------

static void enter_asking(struct keeper *k)
{
    keeper_ranks_signal(k->ranks, (int)k->stop.pre_stop_signal);
    keeper_ranks_signal(k->ranks, SIGCONT);
    loop_timer_arm(k->grace, k->stop.pre_stop_ms);
    loop_timer_arm(k->look, 0);
}

// A later STOP shortens the grace, and never makes it longer.
static void limit_grace(struct keeper *k)
{
    uint64_t now = loop_now_ms(), end = now + k->stop.grace_ms;
    if (k->grace_end == 0 || end < k->grace_end)
        k->grace_end = end;
    loop_timer_arm(k->grace, k->grace_end > now ? k->grace_end - now : 0);
}

static void enter_ending(struct keeper *k)
{
    keeper_kin_terminate(k->pmixd);
    limit_grace(k);
    loop_timer_arm(k->look, 0);
}

static void enter_killing(struct keeper *k)
{
    k->deadline = loop_now_ms() + KEEPER_KILL_MS;
    k->pause = 0;
    k->left = 0;
    k->proof.killed = (uint32_t)keeper_kin_count(k->pmixd);
    loop_timer_disarm(k->grace);
    loop_timer_arm(k->look, 0);
}

static void enter_clearing(struct keeper *k)
{
    keeper_ranks_signal(k->ranks, SIGKILL);
    keeper_ranks_forget(k->ranks);
    enter_killing(k);
}

static void enter_draining(struct keeper *k)
{
    k->deadline = loop_now_ms() + KEEPER_DRAIN_MS;
    k->proof.took_ms = (uint32_t)(loop_now_ms() - k->stop_ms);
    loop_timer_arm(k->grace, PMIXD_END_MS);
    if (k->pmixd > 0) // it removes what its ranks have left (pmix_main.c)
        kill(k->pmixd, SIGTERM);
    keeper_ranks_finish(k->ranks);
    loop_timer_arm(k->look, 0);
}

static void enter_stopped(struct keeper *k)
{
    if (k->pmixd > 0)
        strv_addf(&k->proof.leftovers, "%d (muster-pmixd)", (int)k->pmixd);
    keeper_send_stopped(&k->send, &k->proof);
}

static void enter_over(struct keeper *k)
{
    event_base_loopbreak(k->base);
}

static void happen(struct keeper *k, enum keeper_event event)
{
    static void (*const enter[KEEPER_STATES])(struct keeper *) = {
        [KEEPER_CLEARING] = enter_clearing, [KEEPER_ASKING] = enter_asking,
        [KEEPER_ENDING] = enter_ending,     [KEEPER_KILLING] = enter_killing,
        [KEEPER_DRAINING] = enter_draining, [KEEPER_STOPPED] = enter_stopped,
        [KEEPER_ORPHANED] = enter_killing,  [KEEPER_OVER] = enter_over,
    };
    enum keeper_state old = k->state, next = keeper_state_next(old, event);
    if (next == old)
        return;
    log_debug(k->log, "%s: %s -> %s", keeper_event_name(event), keeper_state_name(old),
              keeper_state_name(next));
    k->state = next;
    if (old == KEEPER_CLEARING)
        keeper_send_failed(&k->send, &k->failure);
    if (enter[next] != NULL)
        enter[next](k);
}

// ---- children ---------------------------------------------------------------

static void reaped(struct keeper *k, pid_t pid, int status)
{
    uint32_t rank;
    if (keeper_ranks_exited(k->ranks, pid, &rank))
        keeper_send_exited(&k->send, rank, pid, status);
    if (pid != k->pmixd)
        return;
    k->pmixd = 0;
    CLEANUP_FREE char *how = proc_status_text(status);
    log_debug(k->log, "the PMIx server ended: %s", how);
}

// Returns how many.
static size_t reap(struct keeper *k)
{
    size_t n = 0;
    pid_t pid;
    for (int status; (pid = waitpid(-1, &status, WNOHANG)) > 0; n++)
        reaped(k, pid, status);
    return n;
}

static void ask_round(struct keeper *k)
{
    if (!keeper_ranks_grouped(k->ranks))
        happen(k, KEEPER_ANSWERED);
}

static void end_round(struct keeper *k)
{
    if (keeper_ranks_running(k->ranks) == 0 && keeper_kin_count(k->pmixd) == 0 &&
        reap(k) == 0)
        happen(k, KEEPER_EMPTY);
}

static void give_up(struct keeper *k, pid_t except)
{
    struct strv *names = &k->proof.leftovers;
    if (names->n > 0) { // they were told with STOPPED
        happen(k, KEEPER_GIVE_UP);
        return;
    }
    keeper_kin_name(except, names);
    for (size_t i = 0; i < names->n; i++)
        log_warn(k->log, "outlived SIGKILL: %s", names->v[i]);
    happen(k, KEEPER_GIVE_UP);
}

// A round that meets more than the one before (they fork) is followed by the next one
// at once.
static void kill_round(struct keeper *k)
{
    pid_t except = k->state == KEEPER_ORPHANED ? 0 : k->pmixd;
    keeper_ranks_signal(k->ranks, SIGKILL);
    size_t left = keeper_kin_kill(except);
    if (left == 0 && reap(k) == 0 && keeper_ranks_running(k->ranks) == 0) {
        happen(k, KEEPER_EMPTY);
        return;
    }
    if (loop_now_ms() >= k->deadline) {
        give_up(k, except);
        return;
    }
    k->pause = left > k->left ? 0 : k->pause * 2 + 1;
    k->pause = k->pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : k->pause;
    k->left = left;
    loop_timer_arm(k->look, k->pause);
}

// Bulk frames go behind control frames: STOPPED waits until the channel is empty.
static void drain_round(struct keeper *k)
{
    bool drained =
        keeper_ranks_drained(k->ranks) && chan_pending(k->agent) == 0 && k->pmixd == 0;
    if (drained || loop_now_ms() >= k->deadline)
        happen(k, KEEPER_DRAINED);
    else
        loop_timer_arm(k->look, DRAIN_PAUSE_MS);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct keeper *k = arg;
    switch (k->state) {
    case KEEPER_ASKING: ask_round(k); break;
    case KEEPER_ENDING: end_round(k); break;
    case KEEPER_CLEARING:
    case KEEPER_KILLING:
    case KEEPER_ORPHANED: kill_round(k); break;
    case KEEPER_DRAINING: drain_round(k); break;
    default: break;
    }
}

// Whoever ends last below the keeper is, or has become, its child: no other clock is
// needed to see that nobody is left.
static void on_child(evutil_socket_t fd, short what, void *arg)
{
    struct keeper *k = arg;
    reap(k);
    on_look(-1, 0, k);
}

static void on_grace(evutil_socket_t fd, short what, void *arg)
{
    struct keeper *k = arg;
    if (k->state == KEEPER_DRAINING && k->pmixd > 0)
        kill(k->pmixd, SIGKILL);
    else
        happen(k, KEEPER_GRACE_OVER);
}

// ---- messages in ------------------------------------------------------------

// It stands by no more; for whoever looks at the pod's processes.
static void be_of_a_job(void)
{
    prctl(PR_SET_NAME, "keeper (job)");
}

static void on_lookup(const struct keeper *k, const struct frame *f)
{
    be_of_a_job();
    ERR_AUTO err = ERR_INIT;
    STRV_AUTO paths = STRV_INIT;
    Muster__Lookup *m = msg_unpack(f, &muster__lookup__descriptor, &err);
    if (m == NULL)
        log_error(k->log, "from the agent: %s", err_text(&err));
    else if (keeper_lookup(m, &paths, &err) < 0)
        strv_free(&paths);
    if (m != NULL)
        keeper_send_found(&k->send, m->world, &paths, &err);
    msg_free(m);
}

// The first one that fails takes everything along; what an earlier one started runs on.
static void spawn_failed(struct keeper *k)
{
    if (k->state == KEEPER_WARM) {
        happen(k, KEEPER_SPAWN_FAILED);
        return;
    }
    keeper_send_failed(&k->send, &k->failure);
    err_clear(&k->failure);
}

static void on_spawn(struct keeper *k, const struct frame *f)
{
    if (k->state != KEEPER_WARM && k->state != KEEPER_RUNNING) {
        log_warn(k->log, "SPAWN ignored in state %s", keeper_state_name(k->state));
        return;
    }
    be_of_a_job();
    size_t before = keeper_ranks_count(k->ranks);
    Muster__Spawn *m = msg_unpack(f, &muster__spawn__descriptor, &k->failure);
    if (m != NULL && keeper_ranks_start(k->ranks, m, &k->failure) == 0) {
        keeper_send_started(&k->send, k->ranks, before);
        happen(k, KEEPER_SPAWNED);
    } else {
        spawn_failed(k);
    }
    msg_free(m);
}

static void on_signal(struct keeper *k, const Muster__Signal *m)
{
    if (m->number >= 1 && m->number < NSIG)
        keeper_ranks_signal(k->ranks, (int)m->number);
    else
        log_warn(k->log, "there is no signal %u", m->number);
}

static void on_stop(struct keeper *k, const Muster__Stop *m)
{
    bool asks = m->pre_stop_signal >= 1 && m->pre_stop_signal < NSIG;
    enum keeper_event stop = m->grace_ms > 0 ? KEEPER_STOP : KEEPER_STOP_NOW;
    k->stop = *m; // has no pointers that count
    if (k->stop_ms == 0)
        k->stop_ms = loop_now_ms();
    happen(k, asks ? KEEPER_ASK : stop);
    if (k->state == KEEPER_ENDING)
        limit_grace(k);
}

static void on_credit(struct keeper *k, const Muster__Credit *m)
{
    keeper_ranks_credit(k->ranks, m->rank, m->stream, m->bytes);
}

static void on_message(struct keeper *k, const struct frame *f)
{
    const ProtobufCMessageDescriptor *type =
        f->kind == FRAME_SIGNAL ? &muster__signal__descriptor
        : f->kind == FRAME_STOP ? &muster__stop__descriptor
                                : &muster__credit__descriptor;
    ERR_AUTO err = ERR_INIT;
    void *m = msg_unpack(f, type, &err);
    if (m == NULL)
        log_error(k->log, "from the agent: %s", err_text(&err));
    else if (f->kind == FRAME_SIGNAL)
        on_signal(k, m);
    else if (f->kind == FRAME_STOP)
        on_stop(k, m);
    else
        on_credit(k, m);
    msg_free(m);
}

static void on_input(struct keeper *k, const struct frame *f)
{
    Muster__Output *m = msg_unpack(f, &muster__output__descriptor, NULL);
    if (m != NULL)
        keeper_ranks_input(k->ranks, m->rank, m->data.data, m->data.len, m->eof);
    msg_free(m);
}

static void on_ping(const struct keeper *k)
{
    if (k->state < KEEPER_DRAINING)
        keeper_send_ping(&k->send);
}

static void on_frame(void *arg, const struct frame *f)
{
    struct keeper *k = arg;
    k->send.head =
        (struct frame){.job = f->job, .term = f->term, .attempt = f->attempt};
    switch (f->kind) {
    case FRAME_LOOKUP: on_lookup(k, f); break;
    case FRAME_SPAWN: on_spawn(k, f); break;
    case FRAME_SIGNAL:
    case FRAME_STOP:
    case FRAME_CREDIT: on_message(k, f); break;
    case FRAME_PING: on_ping(k); break;
    case FRAME_INPUT: on_input(k, f); break;
    default: log_warn(k->log, "unexpected %s from the agent", frame_kind_name(f->kind));
    }
}

static void on_closed(void *arg, const struct err *why)
{
    happen(arg, KEEPER_AGENT_GONE);
}

// ---- life -------------------------------------------------------------------

struct keeper *keeper_create(struct event_base *base, int agent_fd, struct log *log)
{
    static const struct chan_ops ops = {.frame = on_frame, .closed = on_closed};
    struct keeper *k = xcalloc(1, sizeof *k);
    k->base = base;
    k->log = log;
    k->ranks = keeper_ranks_create(base, on_output, on_taken, k);
    k->child = evsignal_new(base, SIGCHLD, on_child, k);
    event_add(k->child, NULL);
    k->grace = loop_timer(base, on_grace, k);
    k->look = loop_timer(base, on_look, k);
    k->agent = chan_create(base, agent_fd, agent_fd, &ops, k);
    k->send.chan = k->agent;
    return k;
}

int keeper_start_pmixd(struct keeper *k, const char *path, int fd, struct err *err)
{
    CLEANUP_CLOSE int socket = fd;
    CLEANUP_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0) {
        err_set_errno(err, errno, "/dev/null for %s", path);
        return -1;
    }
    CLEANUP_FREE char *name = xstrdup(path);
    char *argv[] = {name, NULL};
    struct proc_fd fds[] = {{.from = null, .to = 0}, {.from = socket, .to = 3}};
    struct proc_spec spec = {.path = path,
                             .argv = argv,
                             .envp = environ,
                             .fds = fds,
                             .nfds = 2,
                             .own_session = true,
                             .death_signal = SIGKILL};
    pid_t pid = proc_spawn(&spec, err);
    k->pmixd = pid > 0 ? pid : 0;
    return pid > 0 ? 0 : -1;
}

void keeper_pmi_from(struct keeper *k, int sock)
{
    keeper_ranks_pmi_from(k->ranks, sock);
}

void keeper_destroy(struct keeper *k)
{
    if (k == NULL)
        return;
    chan_destroy(k->agent);
    keeper_ranks_destroy(k->ranks);
    event_free(k->child);
    loop_timer_free(k->grace);
    loop_timer_free(k->look);
    err_clear(&k->failure);
    strv_free(&k->proof.leftovers);
    free(k);
}
