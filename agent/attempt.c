// One attempt on this pod: its states.
#include "agent/attempt.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attempt_internal.h"
#include "agent/master_port.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "wire/msg.h"

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

long attempt_local_rank(const struct attempt *at, uint32_t rank)
{
    for (size_t i = 0; at->position != NULL && i < at->position->n_ranks; i++)
        if (at->position->ranks[i] == rank)
            return (long)i;
    return -1;
}

static void report_stopped(struct attempt *at)
{
    char empty[] = "";
    Muster__Stopped m = MUSTER__STOPPED__INIT;
    m.why = at->why != NULL ? at->why : empty;
    attempt_up(at, FRAME_STOPPED, &m.base);
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
}

void attempt_report_failure(struct attempt *at, const struct err *err)
{
    CLEANUP_FREE char *text = xstrdup(err_text(err));
    Muster__Failed m = MUSTER__FAILED__INIT;
    m.text = text;
    m.code = err->code > 0 ? (uint32_t)err->code : 125;
    attempt_up(at, FRAME_FAILED, &m.base);
}

void attempt_fail(struct attempt *at, const struct err *err)
{
    attempt_event(at, ATTEMPT_EV_FAILED);
    attempt_report_failure(at, err);
}

void attempt_prepared(struct attempt *at)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Ready m = MUSTER__READY__INIT;
    if (at->index == 0) {
        const char *address = session_local_address(at->session);
        uint16_t port = master_port_pick(agent_master_port(session_agent(at->session)),
                                         address[0] != '\0' ? address : NULL, &err);
        if (port == 0) {
            attempt_fail(at, &err);
            return;
        }
        m.master_port = port;
    }
    attempt_event(at, ATTEMPT_EV_PREPARED);
    attempt_up(at, FRAME_READY, &m.base);
}

// ---- prepare -----------------------------------------------------------------

static const char *path_of_ranks(const struct attempt *at)
{
    for (size_t i = at->prepare->n_env; i-- > 0;)
        if (strncmp(at->prepare->env[i], "PATH=", 5) == 0)
            return at->prepare->env[i] + 5;
    return getenv("PATH");
}

static int make_tmpdir(struct attempt *at, struct err *err)
{
    const char *top = getenv("TMPDIR");
    at->tmpdir =
        xasprintf("%s/muster-XXXXXX", top != NULL && top[0] == '/' ? top : "/tmp");
    if (mkdtemp(at->tmpdir) != NULL)
        return 0;
    err_set_errno(err, errno, "cannot make a directory %s (set TMPDIR of musterd)",
                  at->tmpdir);
    free(at->tmpdir);
    at->tmpdir = NULL;
    return -1;
}

static int prepare(struct attempt *at, struct err *err)
{
    const Muster__Prepare *p = at->prepare;
    const char *dir = p->wdir[0] != '\0' ? p->wdir : NULL;
    if (p->n_argv == 0) {
        err_set(err, "PREPARE without a program");
        return -1;
    }
    if (dir != NULL && access(dir, X_OK) < 0) {
        err_set_errno(err, errno, "working directory %s (--wdir)", dir);
        return -1;
    }
    at->program = proc_resolve(p->argv[0], path_of_ranks(at), dir, err);
    if (at->program == NULL || make_tmpdir(at, err) < 0)
        return -1;
    return attempt_keeper_start(at, err);
}

static void begin(struct attempt *at)
{
    ERR_AUTO err = ERR_INIT;
    at->ranks = xcalloc(at->position->n_ranks, sizeof *at->ranks);
    if (prepare(at, &err) < 0)
        attempt_fail(at, &err);
}

static const Muster__Position *find_position(const Muster__Prepare *p, uint32_t vertex,
                                             uint32_t *index)
{
    for (*index = 0; *index < p->n_positions; ++*index)
        if (p->positions[*index]->vertex == vertex)
            return p->positions[*index];
    return NULL;
}

static void on_over(int fd, short what, void *arg)
{
    struct attempt *at = arg;
    session_attempt_over(at->session, at);
}

static void on_timer(int fd, short what, void *arg);

struct attempt *attempt_create(struct session *s, const struct frame *f,
                               Muster__Prepare *prepare, struct err *err)
{
    struct event_base *base = agent_conf(session_agent(s))->base;
    struct attempt *at = xcalloc(1, sizeof *at);
    at->session = s;
    at->job = f->job;
    at->term = f->term;
    at->number = f->attempt;
    at->prepare = prepare;
    at->position = find_position(prepare, session_vertex(s), &at->index);
    at->over = loop_timer(base, on_over, at);
    at->timer = loop_timer(base, on_timer, at);
    if (attempt_coll_start(at, err) < 0) {
        attempt_destroy(at);
        return NULL;
    }
    if (at->position != NULL)
        begin(at);
    return at;
}

// ---- frames --------------------------------------------------------------------

static void go(struct attempt *at, const struct frame *f)
{
    Muster__Go *m = msg_unpack(f, &muster__go__descriptor, NULL);
    if (m != NULL && at->state == ATTEMPT_READY) {
        attempt_event(at, ATTEMPT_EV_GO);
        attempt_keeper_spawn(at, m);
    }
    msg_free(m);
}

static void stop(struct attempt *at, uint32_t grace_ms)
{
    bool failed = at->state == ATTEMPT_FAILED;
    attempt_event(at, ATTEMPT_EV_STOP);
    if (failed)
        report_stopped(at); // nothing runs: the keeper has killed what it had started
    else if (at->state == ATTEMPT_STOPPING)
        attempt_keeper_stop(at, grace_ms);
}

static void to_keeper(struct attempt *at, const struct frame *f)
{
    if (at->keeper != NULL && at->state >= ATTEMPT_STARTING)
        chan_send(at->keeper, f);
}

void attempt_frame(struct attempt *at, const struct frame *f)
{
    Muster__Stop *m;
    if (at->position == NULL && f->kind != FRAME_COLL_DONE)
        return;
    switch (f->kind) {
    case FRAME_GO: go(at, f); break;
    case FRAME_STOP:
        m = msg_unpack(f, &muster__stop__descriptor, NULL);
        if (m != NULL)
            stop(at, m->grace_ms);
        msg_free(m);
        break;
    case FRAME_SIGNAL:
    case FRAME_CREDIT:
    case FRAME_INPUT: to_keeper(at, f); break;
    case FRAME_COLL_DONE:
    case FRAME_MODEX:
    case FRAME_MODEX_DONE:
    case FRAME_NAMES_DONE: attempt_pmix_frame(at, f); break;
    default: log_debug(log_of(at), "dropped a frame of kind %u", f->kind); break;
    }
}

uint32_t attempt_number(const struct attempt *at)
{
    return at->number;
}

uint32_t attempt_grace_ms(const struct attempt *at)
{
    return at->prepare->grace_ms;
}

// ---- the end ---------------------------------------------------------------------

// The one timer: its meaning follows from the state.
static void on_timer(int fd, short what, void *arg)
{
    struct attempt *at = arg;
    if (at->strays_left > 0) {
        if (agent_kill_strays(session_agent(at->session)) > 0 &&
            --at->strays_left > 0) {
            loop_timer_arm(at->timer, 20);
            return;
        }
        at->strays_left = 0;
        attempt_event(at, ATTEMPT_EV_KEEPER_GONE);
        report_stopped(at);
        if (at->letting_go)
            loop_timer_arm(at->over, 0);
        return;
    }
    attempt_keeper_flush_exits(at);
}

void attempt_abandon(struct attempt *at, uint32_t grace_ms, const char *why)
{
    if (at->why == NULL)
        at->why = xstrdup(why);
    at->letting_go = true;
    bool runs = at->keeper != NULL && at->position != NULL &&
                at->state < ATTEMPT_STOPPED && at->state != ATTEMPT_FAILED;
    if (runs && grace_ms > 0)
        stop(at, grace_ms);
    else
        attempt_keeper_let_go(at);
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    remove(path);
    return 0;
}

void attempt_destroy(struct attempt *at)
{
    if (at == NULL)
        return;
    for (size_t i = 0; at->ranks != NULL && i < at->position->n_ranks; i++)
        msg_free(at->ranks[i].exited);
    chan_destroy(at->keeper);
    chan_destroy(at->pmixd);
    agent_forget_child(session_agent(at->session), at->keeper_child);
    if (at->tmpdir != NULL)
        nftw(at->tmpdir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    coll_destroy(at->colls);
    coll_route_destroy(at->route);
    msg_free(at->pmix_ready);
    msg_free(at->prepare);
    loop_timer_free(at->timer);
    loop_timer_free(at->over);
    free(at->ranks);
    free(at->tmpdir);
    free(at->program);
    free(at->why);
    free(at);
}
