// The keeper of an attempt, seen from the agent.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/attempt_internal.h"
#include "agent/keeper.h"
#include "agent/oom.h"
#include "agent/pmi1.h"
#include "agent/rank_env.h"
#include "agent/shm_files.h"
#include "agent/warm.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/apps.h"
#include "wire/msg.h"
#include "wire/placeholders.h"

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

static void flush_world(struct attempt *at, struct attempt_world *w)
{
    for (size_t i = 0; w->position != NULL && i < w->position->n_ranks; i++)
        if (w->ranks[i].exited != NULL)
            send_exit(at, &w->ranks[i]);
}

void attempt_keeper_flush_exits(struct attempt *at)
{
    for (size_t i = 0; i < at->nworlds; i++)
        flush_world(at, at->worlds[i]);
}

// A rank's exit may overtake what muster-pmixd has to say of it (it finalized): for a
// rank that ended well, ask it first. Failures are reported at once.
static void on_exited(struct attempt *at, const struct frame *f)
{
    Muster__Exited *m = msg_unpack(f, &muster__exited__descriptor, NULL);
    struct attempt_rank *r = m != NULL ? attempt_rank(at, m->rank) : NULL;
    if (r == NULL || r->exited != NULL) {
        msg_free(m);
        return;
    }
    r->exited = m;
    r->gone = true;
    at->failed_here = at->failed_here || m->status != 0;
    // Read at once: the kernel counts before the process is gone.
    int64_t kills = WIFSIGNALED(m->status) ? oom_kills("") : -1;
    if (kills > at->oom_kills)
        m->oom_kills = (uint32_t)(kills - at->oom_kills);
    const struct attempt_world *w = attempt_world_of(at, m->rank);
    if (w->pmi1 != NULL)
        pmi1_drain(w->pmi1, (size_t)(r - w->ranks)); // aborted, or finalized?
    attempt_pmix_rank_gone(at, w, r);
    if (m->status != 0 || at->pmixd == NULL || r->finalized) {
        send_exit(at, r);
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
    if (m != NULL)
        attempt_report_stopped(at, m);
    msg_free(m);
    if (at->letting_go)
        attempt_keeper_let_go(at);
}

static void cannot_start(struct attempt *at, const struct err *err)
{
    if (at->state == ATTEMPT_RUNNING) // of a further world: the first one's ranks run
        attempt_report_failure(at, 0, err);
    else
        attempt_fail(at, err);
}

static void on_failed(struct attempt *at, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Failed *m = msg_unpack(f, &muster__failed__descriptor, NULL);
    if (m != NULL)
        err_set_kind(&err, NULL, (int)m->code, "%s", m->text);
    msg_free(m);
    cannot_start(at, &err);
}

static void on_found(struct attempt *at, const struct frame *f)
{
    Muster__LookupDone *m = msg_unpack(f, &muster__lookup_done__descriptor, NULL);
    if (m != NULL)
        attempt_world_found(at, m);
    msg_free(m);
}

static void on_frame(void *arg, const struct frame *f)
{
    struct attempt *at = arg;
    switch (f->kind) {
    case FRAME_LOOKUP_DONE: on_found(at, f); break;
    case FRAME_STARTED:
        attempt_event(at, ATTEMPT_EV_STARTED);
        relay_up(at, f);
        break;
    case FRAME_FAILED: on_failed(at, f); break;
    case FRAME_EXITED: on_exited(at, f); break;
    case FRAME_OUTPUT:
    case FRAME_CREDIT: relay_up(at, f); break;
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
    at->failed_here = true;
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
    attempt_report_failure(at, 0, &err);
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

// Takes over the kit's sockets.
static void own_kit(struct attempt *at, struct kit *kit)
{
    static const struct chan_ops ops = {on_frame, on_closed};
    at->keeper_pid = kit->pid;
    at->keeper = chan_create(conf_of(at)->base, kit->keeper, kit->keeper, &ops, at);
    at->pmi_sock = kit->pmi;
    if (kit->pmixd >= 0)
        attempt_pmix_start(at, kit->pmixd);
}

int attempt_keeper_start(struct attempt *at, struct err *err)
{
    struct agent *a = session_agent(at->session);
    struct kit kit;
    bool pmix = at->worlds[0]->prepare->pmix;
    if (pmix && agent_pmixd(a) == NULL) {
        err_set(err,
                "muster-pmixd is not installed beside musterd; install it, or start "
                "the ranks with --pmi pmi1 (MPICH and its kin) or --pmi none");
        return -1;
    }
    at->keeper_child = warm_take(agent_warm(a), pmix, &kit, on_child_gone, at, err);
    if (at->keeper_child == NULL)
        return -1;
    own_kit(at, &kit);
    return 0;
}

void attempt_keeper_look_up(struct attempt *at, const Muster__Lookup *m)
{
    struct frame f = attempt_header(at, FRAME_LOOKUP);
    if (at->keeper != NULL)
        chan_send_msg(at->keeper, &f, &m->base);
}

// With the placeholders of a node's command filled in, but for the program's own name, which
// was looked up before.
static void make_argv(const struct rank_env *e, const Muster__App *app,
                      struct strv *args)
{
    if (!e->prepare->per_node) {
        strv_add_all(args, app->argv, app->n_argv);
        return;
    }
    struct placeholders p = placeholders_of(e->prepare, e->go, e->self);
    strv_add(args, app->argv[0]);
    placeholders_fill(&p, app->argv + 1, app->n_argv - 1, args);
}

static Muster__Program *make_program(const struct attempt *at,
                                     const struct attempt_world *w,
                                     const struct rank_env *e, size_t i)
{
    struct strv common = STRV_INIT, args = STRV_INIT;
    const Muster__App *app = w->prepare->apps[i];
    Muster__Program *m = xmalloc(sizeof *m);
    muster__program__init(m);
    m->path = xstrdup(w->programs[i]);
    m->wdir = xstrdup(app->wdir);
    make_argv(e, app, &args);
    m->argv = strv_take(&args, &m->n_argv);
    rank_env_common(e, app, conf_of(at)->environ, &common);
    m->env = strv_take(&common, &m->n_env);
    return m;
}

static Muster__SpawnRank *make_rank(const struct attempt_world *w,
                                    const struct rank_env *e, size_t i)
{
    struct strv own = STRV_INIT;
    uint32_t rank = w->position->ranks[i];
    Muster__SpawnRank *m = xmalloc(sizeof *m);
    muster__spawn_rank__init(m);
    m->rank = w->prepare->first + rank;
    m->program = apps_of(w->prepare, rank);
    uint32_t who = w->prepare->input;
    m->input = who == UINT32_MAX || (who > 0 && who - 1 == rank);
    rank_env_rank(e, i, &own);
    m->env = strv_take(&own, &m->n_env);
    return m;
}

static Muster__Spawn *make_spawn(const struct attempt *at,
                                 const struct attempt_world *w,
                                 const struct rank_env *e)
{
    Muster__Spawn *m = xmalloc(sizeof *m);
    muster__spawn__init(m);
    m->output_credit = OUTPUT_CREDIT_BYTES;
    m->n_programs = w->prepare->n_apps;
    m->programs = xcalloc(m->n_programs, sizeof(Muster__Program *));
    for (size_t i = 0; i < m->n_programs; i++)
        m->programs[i] = make_program(at, w, e, i);
    m->n_ranks = w->position->n_ranks;
    m->pmi = w->pmi1 != NULL;
    m->ranks = xcalloc(m->n_ranks, sizeof(Muster__SpawnRank *));
    for (size_t i = 0; i < m->n_ranks; i++)
        m->ranks[i] = make_rank(w, e, i);
    return m;
}

void attempt_keeper_spawn(struct attempt *at, struct attempt_world *w,
                          const Muster__Go *go)
{
    ERR_AUTO err = ERR_INIT;
    if (w->prepare->pmi1 && attempt_pmi1_start(at, w, &err) < 0) {
        cannot_start(at, &err);
        return;
    }
    struct frame f = attempt_header(at, FRAME_SPAWN);
    struct rank_env e = {.prepare = w->prepare,
                         .go = go,
                         .self = w->index,
                         .attempt = at->number,
                         .pmix = w->pmix_ready,
                         .tmpdir = at->tmpdir,
                         .role_file = at->role_file,
                         .cpus = conf_of(at)->hello->cpus};
    Muster__Spawn *m = make_spawn(at, w, &e);
    if (!at->started_ranks) { // the first world that has ranks here
        at->started_ranks = true;
        shm_files_list("/dev/shm", &at->shm_before);
        at->oom_kills = oom_kills("");
    }
    chan_send_msg(at->keeper, &f, &m->base);
    msg_free(m);
}

void attempt_keeper_stop(struct attempt *at, const Muster__Stop *stop)
{
    struct frame f = attempt_header(at, FRAME_STOP);
    if (at->keeper != NULL)
        chan_send_msg(at->keeper, &f, &stop->base);
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
