// The keeper of an attempt, seen from the agent.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/attempt_internal.h"
#include "agent/keeper.h"
#include "agent/oom.h"
#include "agent/pmi1.h"
#include "agent/rank_env.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "wire/msg.h"

enum {
    EXIT_SYNC_MS = 1000, // for muster-pmixd's last word about a rank that ended
    STRAY_ROUNDS = 250,  // of 20 ms
    LET_GO_MS = KEEPER_KILL_MS + 2000,
    OUTPUT_CREDIT_BYTES = 1 << 20,
};

static const struct agent_conf *conf_of(const struct attempt *at)
{
    return agent_conf(session_agent(at->session));
}

// ---- exits -------------------------------------------------------------------

static void send_exit(struct attempt *at, struct attempt_rank *r)
{
    Muster__Exited *m = r->exited;
    r->exited = NULL;
    m->pmix_connected = r->connected;
    m->pmix_finalized = r->finalized;
    attempt_up(at, FRAME_EXITED, &m->base);
    msg_free(m);
}

void attempt_keeper_flush_exits(struct attempt *at)
{
    for (size_t i = 0; i < at->position->n_ranks; i++)
        if (at->ranks[i].exited != NULL)
            send_exit(at, &at->ranks[i]);
}

// A rank's exit may overtake what muster-pmixd has to say of it (it finalized): for a
// rank that ended well, ask it first. Failures are reported at once.
static void on_exited(struct attempt *at, const struct frame *f)
{
    Muster__Exited *m = msg_unpack(f, &muster__exited__descriptor, NULL);
    long local = m != NULL ? attempt_local_rank(at, m->rank) : -1;
    if (local < 0 || at->ranks[local].exited != NULL) {
        msg_free(m);
        return;
    }
    at->ranks[local].exited = m;
    at->ranks[local].gone = true;
    // Read at once: the kernel counts before the process is gone.
    int64_t kills = WIFSIGNALED(m->status) ? oom_kills("") : -1;
    if (kills > at->oom_kills)
        m->oom_kills = (uint32_t)(kills - at->oom_kills);
    if (at->pmi1 != NULL) // it may have aborted, or finalized
        pmi1_drain(at->pmi1, (size_t)local);
    if (m->status != 0 || at->pmixd == NULL || at->ranks[local].finalized) {
        send_exit(at, &at->ranks[local]);
        return;
    }
    struct frame ping = attempt_header(at, FRAME_PING);
    chan_send(at->pmixd, &ping);
    loop_timer_arm(at->timer, EXIT_SYNC_MS);
}

// ---- frames of the keeper ------------------------------------------------------

static void relay_up(struct attempt *at, const struct frame *f)
{
    struct frame out = attempt_header(at, f->kind);
    out.body = f->body;
    out.len = f->len;
    session_up(at->session, &out);
}

static void on_stopped(struct attempt *at, const struct frame *f)
{
    Muster__Stopped *m = msg_unpack(f, &muster__stopped__descriptor, NULL);
    attempt_keeper_flush_exits(at);
    attempt_event(at, ATTEMPT_EV_STOPPED);
    if (m != NULL && at->why != NULL) {
        free(m->why == protobuf_c_empty_string ? NULL : m->why);
        m->why = xstrdup(at->why);
    }
    if (m != NULL)
        attempt_up(at, FRAME_STOPPED, &m->base);
    msg_free(m);
    if (at->letting_go)
        attempt_keeper_let_go(at);
}

static void on_failed(struct attempt *at, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Failed *m = msg_unpack(f, &muster__failed__descriptor, NULL);
    if (m != NULL)
        err_set_kind(&err, NULL, (int)m->code, "%s", m->text);
    msg_free(m);
    attempt_fail(at, &err);
}

static void on_frame(void *arg, const struct frame *f)
{
    struct attempt *at = arg;
    switch (f->kind) {
    case FRAME_STARTED:
        attempt_event(at, ATTEMPT_EV_STARTED);
        relay_up(at, f);
        break;
    case FRAME_FAILED: on_failed(at, f); break;
    case FRAME_EXITED: on_exited(at, f); break;
    case FRAME_OUTPUT: relay_up(at, f); break;
    case FRAME_STOPPED: on_stopped(at, f); break;
    case FRAME_PING: attempt_pmix_lost(at); break;
    default:
        log_debug(conf_of(at)->log, "dropped a frame of kind %u from the keeper",
                  f->kind);
        break;
    }
}

static void begin_hunt(struct attempt *at)
{
    loop_timer_disarm(at->bound);
    at->strays_left = STRAY_ROUNDS;
    loop_timer_arm(at->timer, 0);
}

// The keeper is gone. When nobody asked for that, its ranks get SIGKILL from the kernel;
// what else was below it is below us now, or soon: sockets close before kin moves.
static void on_closed(void *arg, const struct err *why)
{
    struct attempt *at = arg;
    chan_destroy(at->keeper);
    at->keeper = NULL;
    attempt_keeper_flush_exits(at);
    if (at->state == ATTEMPT_STOPPED)
        return;
    if (at->why == NULL)
        at->why =
            xasprintf("the keeper of its ranks (pid %d) was killed or crashed; the "
                      "ranks were killed with it",
                      (int)at->keeper_pid);
    log_warn(conf_of(at)->log, "%s", at->why);
    ERR_AUTO err = ERR_INIT;
    err_set(&err, "%s", at->why);
    attempt_report_failure(at, &err);
    begin_hunt(at);
}

// The proof begins when the keeper is reaped: until then its ranks are below it, not
// below us.
bool attempt_keeper_hunt(struct attempt *at, struct strv *leftovers)
{
    struct agent *a = session_agent(at->session);
    bool keeper = at->keeper_child != NULL;
    if (keeper)
        kill(at->keeper_pid, SIGKILL);
    size_t left = agent_kill_strays(a);
    if (!keeper && left == 0) {
        at->strays_left = 0;
    } else if (--at->strays_left == 0) {
        if (keeper)
            strv_addf(leftovers, "%d (the keeper)", (int)at->keeper_pid);
        agent_name_strays(a, leftovers);
    }
    return at->strays_left > 0;
}

void attempt_keeper_kill(struct attempt *at)
{
    if (at->why == NULL)
        at->why =
            xasprintf("the keeper of its ranks (pid %d) did not end them in time; "
                      "both were killed",
                      (int)at->keeper_pid);
    log_warn(conf_of(at)->log, "%s", at->why);
    chan_destroy(at->keeper);
    at->keeper = NULL;
    begin_hunt(at);
}

static void on_child_gone(void *arg, int status)
{
    struct attempt *at = arg;
    at->keeper_child = NULL;
    if (status != 0 && at->keeper == NULL && at->strays_left == 0)
        begin_hunt(at); // killed before it had done what letting it go meant
    else if (at->letting_go && at->strays_left == 0)
        loop_timer_arm(at->over, 0);
}

// ---- start, spawn, stop ----------------------------------------------------------

static int make_pair(int sv[2], struct err *err)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == 0)
        return 0;
    err_set_errno(err, errno, "socketpair");
    return -1;
}

static pid_t spawn_keeper(struct attempt *at, int keeper_fd, int pmixd_fd,
                          const char *pmixd, struct err *err)
{
    STRV_AUTO argv = STRV_INIT;
    strv_add(&argv, "musterd");
    strv_add(&argv, "keeper");
    if (at->pmi1 != NULL) {
        strv_add(&argv, "--rank-fds");
        strv_addf(&argv, "%zu", at->position->n_ranks);
    }
    if (pmixd != NULL) {
        strv_add(&argv, "--pmixd");
        strv_add(&argv, pmixd);
    }
    struct proc_fd fds[] = {{keeper_fd, 3}, {pmixd_fd, 4}};
    struct proc_spec spec = {.path = "/proc/self/exe",
                             .argv = argv.v,
                             .envp = conf_of(at)->environ,
                             .fds = fds,
                             .nfds = pmixd != NULL ? 2 : 1,
                             .own_session = true};
    pid_t pid = proc_spawn(&spec, err);
    err_prefix(err, "keeper");
    return pid;
}

int attempt_keeper_start(struct attempt *at, struct err *err)
{
    static const struct chan_ops ops = {on_frame, on_closed};
    struct agent *a = session_agent(at->session);
    const char *pmixd = at->prepare->pmix ? agent_pmixd(a) : NULL;
    int kp[2] = {-1, -1}, pm[2] = {-1, -1};
    if (at->prepare->pmix && pmixd == NULL) {
        err_set(err,
                "muster-pmixd is not installed beside musterd; install it, or start "
                "the ranks with --pmi pmi1 (MPICH and its kin) or --pmi none");
        return -1;
    }
    if (make_pair(kp, err) < 0 || (pmixd != NULL && make_pair(pm, err) < 0) ||
        (at->prepare->pmi1 && attempt_pmi1_start(at, kp[0], err) < 0)) {
        close(kp[0]);
        close(kp[1]);
        close(pm[0]);
        close(pm[1]);
        return -1;
    }
    at->keeper_pid = spawn_keeper(at, kp[1], pm[1], pmixd, err);
    close(kp[1]);
    close(pm[1]);
    if (at->keeper_pid < 0) {
        close(kp[0]);
        close(pm[0]);
        return -1;
    }
    at->keeper_child = agent_watch_child(a, at->keeper_pid, on_child_gone, at);
    at->keeper = chan_create(conf_of(at)->base, kp[0], kp[0], &ops, at);
    if (pmixd != NULL)
        attempt_pmix_start(at, pm[0]);
    else
        attempt_prepared(at);
    return 0;
}

// Moves a vector's strings into a message's field.
static char **take_strings(struct strv *from, size_t *n)
{
    *n = from->n;
    char **v = from->v;
    *from = (struct strv)STRV_INIT;
    return v;
}

static Muster__Spawn *make_spawn(struct attempt *at, const struct rank_env *e)
{
    const Muster__Prepare *p = at->prepare;
    struct strv common = STRV_INIT, args = STRV_INIT;
    Muster__Spawn *m = xmalloc(sizeof *m);
    muster__spawn__init(m);
    m->path = xstrdup(at->program);
    m->wdir = xstrdup(p->wdir);
    m->output_credit = OUTPUT_CREDIT_BYTES;
    strv_add_all(&args, p->argv, p->n_argv);
    m->argv = take_strings(&args, &m->n_argv);
    rank_env_common(e, conf_of(at)->environ, &common);
    m->env = take_strings(&common, &m->n_env);
    m->n_ranks = at->position->n_ranks;
    m->ranks = xcalloc(m->n_ranks, sizeof(Muster__SpawnRank *));
    for (size_t i = 0; i < m->n_ranks; i++) {
        struct strv own = STRV_INIT;
        m->ranks[i] = xmalloc(sizeof *m->ranks[i]);
        muster__spawn_rank__init(m->ranks[i]);
        m->ranks[i]->rank = at->position->ranks[i];
        rank_env_rank(e, i, &own);
        m->ranks[i]->env = take_strings(&own, &m->ranks[i]->n_env);
    }
    return m;
}

void attempt_keeper_spawn(struct attempt *at, const Muster__Go *go)
{
    struct frame f = attempt_header(at, FRAME_SPAWN);
    struct rank_env e = {.prepare = at->prepare,
                         .go = go,
                         .self = at->index,
                         .attempt = at->number,
                         .pmix = at->pmix_ready,
                         .tmpdir = at->tmpdir,
                         .cpus = conf_of(at)->hello->cpus};
    Muster__Spawn *m = make_spawn(at, &e);
    at->oom_kills = oom_kills("");
    chan_send_msg(at->keeper, &f, &m->base);
    msg_free(m);
}

void attempt_keeper_stop(struct attempt *at, uint32_t grace_ms)
{
    Muster__Stop m = MUSTER__STOP__INIT;
    m.grace_ms = grace_ms;
    struct frame f = attempt_header(at, FRAME_STOP);
    if (at->keeper != NULL)
        chan_send_msg(at->keeper, &f, &m.base);
}

void attempt_keeper_let_go(struct attempt *at)
{
    // The end of its socket tells the keeper to kill everybody and to end.
    chan_destroy(at->keeper);
    at->keeper = NULL;
    if (at->strays_left > 0)
        return; // the hunt ends it
    if (at->keeper_child == NULL)
        loop_timer_arm(at->over, 0);
    else
        loop_timer_arm(at->bound, LET_GO_MS);
}
