// One attempt on this pod: its states.
#include "agent/attempt.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attempt_internal.h"
#include "agent/keeper.h"
#include "agent/modex.h"
#include "agent/warm.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/graces.h"
#include "wire/msg.h"

enum { STRAY_PAUSE_MS = 20, STOP_SLACK_MS = 2000 };

// How long a state may last, and what is missing then. STOPPING: see stop().
static const struct {
    uint32_t ms;
    const char *text;
} bounds[ATTEMPT_STATES] = {
    [ATTEMPT_PREPARING] = {30000, NULL}, // attempt_world_missing
    [ATTEMPT_READY] = {120000,
                       "no GO came within 120 s after READY; does muster hang?"},
    [ATTEMPT_STARTING] = {30000, "the keeper did not start the ranks within 30 s"},
};

static struct log *log_of(const struct attempt *at)
{
    return agent_conf(session_agent(at->session))->log;
}

struct frame attempt_header(const struct attempt *at, uint16_t kind)
{
    return (struct frame){
        .kind = kind, .job = at->job, .term = at->term, .attempt = at->number};
}

void attempt_up(struct attempt *at, uint16_t kind, const ProtobufCMessage *msg)
{
    BUF_AUTO body = BUF_INIT;
    struct frame f = attempt_header(at, kind);
    msg_pack(&f, &body, msg);
    session_up(at->session, &f);
}

void attempt_rank_said(struct attempt *at, struct attempt_rank *r, bool finalized,
                       const char *libpmix)
{
    r->connected = true;
    r->finalized = finalized;
    if (at->pmix_used)
        return;
    at->pmix_used = true;
    CLEANUP_FREE char *version = xstrdup(libpmix != NULL ? libpmix : "");
    Muster__PmixUsed m = MUSTER__PMIX_USED__INIT;
    m.libpmix = version;
    attempt_up(at, FRAME_PMIX_USED, &m.base);
}

void attempt_report_stopped(struct attempt *at, const Muster__Stopped *proof)
{
    char empty[] = "";
    STRV_AUTO findings = STRV_INIT;
    Muster__Stopped m = *proof; // shallow
    attempt_proof(at, &findings);
    m.n_findings = findings.n;
    m.findings = findings.v;
    m.why = at->why != NULL ? at->why : empty;
    m.leaves = session_is_stopping(at->session);
    attempt_up(at, FRAME_STOPPED, &m.base);
}

void attempt_arm_bound(struct attempt *at)
{
    loop_timer_disarm(at->bound);
    if (bounds[at->state].ms > 0)
        loop_timer_arm(at->bound, bounds[at->state].ms);
}

void attempt_event(struct attempt *at, enum attempt_event ev)
{
    enum attempt_state to = attempt_fsm_next(at->state, ev);
    if (to == at->state)
        return;
    log_debug(log_of(at), "attempt %u: %s -- %s --> %s", at->number,
              attempt_state_name(at->state), attempt_event_name(ev),
              attempt_state_name(to));
    at->state = to;
    if (to == ATTEMPT_STOPPED)
        warm_again(agent_warm(session_agent(at->session)));
    attempt_arm_bound(at);
}

void attempt_report_failure(struct attempt *at, uint32_t world, const struct err *err)
{
    CLEANUP_FREE char *text = xstrdup(err_text(err));
    Muster__Failed m = MUSTER__FAILED__INIT;
    m.text = text;
    m.code = err->code > 0 ? (uint32_t)err->code : 125;
    m.world = world;
    attempt_up(at, FRAME_FAILED, &m.base);
}

void attempt_fail(struct attempt *at, const struct err *err)
{
    attempt_event(at, ATTEMPT_EV_FAILED);
    attempt_report_failure(at, 0, err);
}

static void on_over(int fd, short what, void *arg)
{
    struct attempt *at = arg;
    session_attempt_over(at->session, at);
}

static void on_timer(int fd, short what, void *arg);
static void on_bound(int fd, short what, void *arg);

struct attempt *attempt_create(struct session *s, const struct frame *f,
                               Muster__Prepare *prepare, struct err *err)
{
    struct event_base *base = agent_conf(session_agent(s))->base;
    struct attempt *at = xcalloc(1, sizeof *at);
    at->session = s;
    at->job = f->job;
    at->term = f->term;
    at->number = f->attempt;
    at->pmi_sock = -1;
    at->over = loop_timer(base, on_over, at);
    at->timer = loop_timer(base, on_timer, at);
    at->bound = loop_timer(base, on_bound, at);
    if (attempt_world_add(at, prepare, err) < 0) {
        attempt_destroy(at);
        return NULL;
    }
    attempt_world_begin(at);
    return at;
}

void attempt_add_world(struct attempt *at, Muster__Prepare *prepare)
{
    ERR_AUTO err = ERR_INIT;
    uint32_t world = prepare->world;
    // Who is attached while PREPARE goes down the tree gets it from its parent, and again from the
    // launcher, which hears of it afterwards.
    if (world < at->nworlds) {
        log_debug(log_of(at), "PREPARE of world %u came again", world);
        msg_free(prepare);
        return;
    }
    if (attempt_world_add(at, prepare, &err) == 0) {
        attempt_world_begin(at);
        return;
    }
    err_prefix(&err, "PREPARE makes no sense");
    attempt_report_failure(at, world, &err);
}

// ---- frames --------------------------------------------------------------------

static void go(struct attempt *at, const struct frame *f)
{
    Muster__Go *m = msg_unpack(f, &muster__go__descriptor, NULL);
    struct attempt_world *w =
        m != NULL && m->world < at->nworlds ? at->worlds[m->world] : NULL;
    if (w != NULL && w->position != NULL && at->keeper != NULL) {
        attempt_event(at, ATTEMPT_EV_GO);
        if (at->state == ATTEMPT_STARTING || at->state == ATTEMPT_RUNNING)
            attempt_keeper_spawn(at, w, m);
    }
    msg_free(m);
}

static void stopped(struct attempt *at, const struct strv *leftovers)
{
    Muster__Stopped m = MUSTER__STOPPED__INIT;
    if (at->state == ATTEMPT_STOPPED)
        return;
    attempt_event(at, ATTEMPT_EV_KEEPER_GONE);
    m.n_leftovers = leftovers->n;
    m.leftovers = leftovers->v;
    attempt_report_stopped(at, &m);
}

static void stop(struct attempt *at, const Muster__Stop *how)
{
    static const struct strv nobody = STRV_INIT;
    attempt_event(at, ATTEMPT_EV_STOP);
    if (at->state != ATTEMPT_STOPPING)
        return;
    if (at->keeper != NULL) {
        uint64_t graces = (uint64_t)how->pre_stop_ms + how->grace_ms;
        attempt_keeper_stop(at, how);
        loop_timer_arm(at->bound, (at->started_ranks ? graces : 0) + KEEPER_KILL_MS +
                                      KEEPER_DRAIN_MS + STOP_SLACK_MS);
    } else if (at->strays_left == 0) {
        stopped(at, &nobody); // there never was a keeper
    }
}

static void to_keeper(struct attempt *at, const struct frame *f)
{
    if (at->keeper != NULL && at->state >= ATTEMPT_STARTING)
        chan_send(at->keeper, f);
}

void attempt_frame(struct attempt *at, const struct frame *f)
{
    Muster__Stop *m;
    if (!attempt_hosts(at) && f->kind != FRAME_COLL_DONE)
        return;
    switch (f->kind) {
    case FRAME_GO: go(at, f); break;
    case FRAME_STOP:
        m = msg_unpack(f, &muster__stop__descriptor, NULL);
        if (m != NULL)
            stop(at, m);
        msg_free(m);
        break;
    case FRAME_SIGNAL:
    case FRAME_CREDIT:
    case FRAME_INPUT: to_keeper(at, f); break;
    case FRAME_ROLES: attempt_roles_frame(at, f); break;
    case FRAME_COLL_DONE:
    case FRAME_MODEX:
    case FRAME_MODEX_DONE:
    case FRAME_NAMES_DONE:
    case FRAME_SPAWN_DONE:
    case FRAME_NOTIFY: attempt_pmix_frame(at, f); break;
    default: log_debug(log_of(at), "dropped a frame of kind %u", f->kind); break;
    }
}

uint32_t attempt_number(const struct attempt *at)
{
    return at->number;
}

// ---- the end ---------------------------------------------------------------------

static void on_timer(int fd, short what, void *arg)
{
    struct attempt *at = arg;
    STRV_AUTO leftovers = STRV_INIT;
    if (at->strays_left == 0) {
        attempt_keeper_flush_exits(at);
        return;
    }
    if (attempt_keeper_hunt(at, &leftovers)) {
        loop_timer_arm(at->timer, STRAY_PAUSE_MS);
        return;
    }
    stopped(at, &leftovers);
    if (at->letting_go)
        loop_timer_arm(at->over, 0);
}

// The state has lasted too long.
static void on_bound(int fd, short what, void *arg)
{
    struct attempt *at = arg;
    ERR_AUTO err = ERR_INIT;
    if (at->state == ATTEMPT_STOPPING || at->letting_go) {
        attempt_keeper_kill(at);
        return;
    }
    if (at->state == ATTEMPT_PREPARING) {
        CLEANUP_FREE char *missing = attempt_world_missing(at);
        err_set(&err, "%s within %u s", missing, bounds[at->state].ms / 1000);
    } else {
        err_set(&err, "%s", bounds[at->state].text);
    }
    attempt_fail(at, &err);
}

// What a launcher would send; only where ranks may be told.
static Muster__Stop stop_as(const struct attempt *at, enum attempt_end how)
{
    const Muster__Prepare *p = at->worlds[0]->prepare;
    Muster__Stop m = MUSTER__STOP__INIT;
    m.grace_ms = how == ATTEMPT_ORPHAN ? graces_term_ms(p->grace_ms) : p->grace_ms;
    // STOPPING: the launcher's STOP came first, and its pre-stop must go on.
    if (how == ATTEMPT_IN_ORDER &&
        (at->state == ATTEMPT_RUNNING || at->state == ATTEMPT_STOPPING)) {
        m.pre_stop_signal = p->pre_stop_signal;
        m.pre_stop_ms = p->pre_stop_ms;
    }
    return m;
}

void attempt_abandon(struct attempt *at, enum attempt_end how, const char *why)
{
    Muster__Stop end = stop_as(at, how);
    bool now = how == ATTEMPT_KILL || end.grace_ms + end.pre_stop_ms == 0;
    if (at->why == NULL)
        at->why = xstrdup(why);
    at->letting_go = true;
    if (at->keeper == NULL || at->state >= ATTEMPT_STOPPED || now) {
        attempt_keeper_let_go(at);
        return;
    }
    // Peers elsewhere need not wait for what these ranks do with their grace.
    ERR_AUTO err = ERR_INIT;
    err_set(&err, "%s", at->why);
    attempt_report_failure(at, 0, &err);
    stop(at, &end);
}

void attempt_destroy(struct attempt *at)
{
    if (at == NULL)
        return;
    chan_destroy(at->keeper);
    chan_destroy(at->pmixd);
    if (at->pmi_sock >= 0)
        close(at->pmi_sock);
    agent_tell_child(at->keeper_child, NULL, NULL);
    attempt_proof_clear(at, NULL);
    attempt_roll_end(at);
    modex_destroy(at->modex);
    coll_destroy(at->colls);
    coll_route_destroy(at->route);
    for (size_t i = 0; i < at->nworlds; i++)
        attempt_world_free(at->worlds[i]);
    free(at->worlds);
    loop_timer_free(at->bound);
    loop_timer_free(at->timer);
    loop_timer_free(at->over);
    strv_free(&at->shm_before);
    free(at->role_file);
    free(at->tmpdir);
    free(at->why);
    free(at);
}
