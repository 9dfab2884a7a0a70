// muster-pmixd of an attempt, and the collectives of its ranks.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attempt_internal.h"
#include "agent/modex.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/msg.h"

enum { MODEX_MAX = 65536 }; // that wait at a time

static const struct agent_conf *conf_of(const struct attempt *at)
{
    return agent_conf(session_agent(at->session));
}

// ---- collectives: this vertex merges the parts of its subtree ----------------------

static int coll_expect(void *arg, const Muster__Coll *c, bool *expected,
                       struct err *err)
{
    struct attempt *at = arg;
    return coll_route_expect(at->route, c, expected, err);
}

static void coll_done(void *arg, const Muster__Coll *merged)
{
    attempt_up(arg, FRAME_COLL, &merged->base);
}

// To whoever of us gave its part; `f` holds the same message.
static void result_to_ranks(struct attempt *at, const Muster__Coll *result,
                            const struct frame *f)
{
    if (result->kind == COLL_PMI1)
        attempt_pmi1_result(at, result);
    else if (at->pmixd != NULL)
        chan_send(at->pmixd, f);
}

static void coll_late(void *arg, size_t contributor, const Muster__Coll *result)
{
    struct attempt *at = arg;
    BUF_AUTO body = BUF_INIT;
    struct frame f = attempt_header(at, FRAME_COLL_DONE);
    msg_pack(&f, &body, &result->base);
    if (contributor > 0)
        session_to_child(at->session, (uint32_t)contributor - 1, &f);
    else
        result_to_ranks(at, result, &f);
}

int attempt_coll_add(struct attempt *at, const Muster__Prepare *p, struct err *err)
{
    static const struct coll_ops ops = {coll_expect, coll_done, coll_late};
    if (at->route != NULL)
        return coll_route_add(at->route, p, err);
    at->route = coll_route_create(session_tree(at->session),
                                  session_vertex(at->session), p, err);
    if (at->route == NULL)
        return -1;
    at->colls = coll_create(coll_route_contributors(at->route), NULL, &ops, at);
    return 0;
}

static void add_part(struct attempt *at, size_t from, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Coll *part = msg_unpack(f, &muster__coll__descriptor, &err);
    if (part == NULL || coll_add(at->colls, from, part, &err) < 0)
        log_warn(conf_of(at)->log, "dropped a collective's part: %s", err_text(&err));
    msg_free(part);
}

void attempt_from_child(struct attempt *at, const struct frame *f)
{
    add_part(at, coll_route_contributor(at->route, f->src), f);
}

// Result from above: known here, and to our ranks.
static void coll_result(struct attempt *at, const struct frame *f)
{
    Muster__Coll *m = msg_unpack(f, &muster__coll__descriptor, NULL);
    if (m != NULL) {
        coll_close(at->colls, m);
        result_to_ranks(at, m, f);
    }
    msg_free(m);
}

// ---- muster-pmixd --------------------------------------------------------------

static void on_ready(struct attempt *at, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__PmixReady *m = msg_unpack(f, &muster__pmix_ready__descriptor, &err);
    struct attempt_world *w = m != NULL ? attempt_world_find(at, m->nspace) : NULL;
    if (m != NULL && m->error[0] != '\0')
        err_set(&err, "PMIx server: %s", m->error);
    if (err.text != NULL) {
        attempt_fail(at, &err);
    } else if (w != NULL && w->pmix_ready == NULL) {
        w->pmix_ready = m;
        attempt_world_check(at, w);
        return;
    }
    msg_free(m);
}

static void on_client(struct attempt *at, const struct frame *f)
{
    Muster__PmixClient *m = msg_unpack(f, &muster__pmix_client__descriptor, NULL);
    const struct attempt_world *w =
        m != NULL ? attempt_world_find(at, m->nspace) : NULL;
    struct attempt_rank *r = w != NULL ? attempt_world_rank(w, m->rank) : NULL;
    if (r != NULL)
        attempt_rank_said(at, r, m->finalized, m->libpmix);
    msg_free(m);
}

// As if the rank had printed it.
static void on_log(struct attempt *at, const struct frame *f)
{
    Muster__PmixLog *m = msg_unpack(f, &muster__pmix_log__descriptor, NULL);
    const struct attempt_world *w =
        m != NULL && m->proc != NULL ? attempt_world_find(at, m->proc->nspace) : NULL;
    if (w != NULL && attempt_world_rank(w, m->proc->rank) != NULL) {
        Muster__Output out = MUSTER__OUTPUT__INIT;
        out.rank = w->prepare->first + m->proc->rank;
        out.stream = m->stream;
        out.data = m->text;
        attempt_up(at, FRAME_OUTPUT, &out.base);
    }
    msg_free(m);
}

// Our pmixd asks another pod, or answers one.
static void route_modex(struct attempt *at, const struct frame *f)
{
    struct frame out = attempt_header(at, f->kind);
    Muster__Modex *m = msg_unpack(f, &muster__modex__descriptor, NULL);
    out.body = f->body;
    out.len = f->len;
    out.src = session_vertex(at->session);
    out.dst = f->dst;
    if (m != NULL && f->kind == FRAME_MODEX && m->proc != NULL)
        out.dst = coll_route_vertex(at->route, m->proc->nspace, m->proc->rank);
    bool late = m != NULL && f->kind == FRAME_MODEX_DONE &&
                !modex_answered(at->modex, f->dst, m->id);
    if (m != NULL && out.dst != 0 && !late)
        session_route(at->session, &out);
    msg_free(m);
}

static void on_modex_failed(void *arg, uint32_t asker, const Muster__Modex *answer)
{
    struct attempt *at = arg;
    BUF_AUTO body = BUF_INIT;
    struct frame out = attempt_header(at, FRAME_MODEX_DONE);
    msg_pack(&out, &body, &answer->base);
    out.src = session_vertex(at->session);
    out.dst = asker;
    session_route(at->session, &out);
}

void attempt_pmix_rank_gone(struct attempt *at, const struct attempt_world *w,
                            const struct attempt_rank *r)
{
    if (at->modex != NULL)
        modex_rank_gone(at->modex, w->prepare->nspace,
                        w->position->ranks[r - w->ranks]);
}

static void on_frame(void *arg, const struct frame *f)
{
    struct attempt *at = arg;
    struct frame out = attempt_header(at, f->kind);
    switch (f->kind) {
    case FRAME_PMIX_READY: on_ready(at, f); break;
    case FRAME_PMIX_CLIENT: on_client(at, f); break;
    case FRAME_PMIX_LOG: on_log(at, f); break;
    case FRAME_COLL: add_part(at, 0, f); break;
    case FRAME_MODEX:
    case FRAME_MODEX_DONE: route_modex(at, f); break;
    case FRAME_NAMES:
    case FRAME_SPAWN_REQUEST:
    case FRAME_NOTIFY:
    case FRAME_ABORT:
        out.body = f->body;
        out.len = f->len;
        session_up(at->session, &out);
        break;
    case FRAME_PING: attempt_keeper_flush_exits(at); break;
    default:
        log_debug(conf_of(at)->log, "dropped a frame of kind %u from muster-pmixd",
                  f->kind);
        break;
    }
}

// It ends with its keeper, too: ask whether that lives, before anybody is blamed.
static void on_closed(void *arg, const struct err *why)
{
    struct attempt *at = arg;
    chan_destroy(at->pmixd);
    at->pmixd = NULL;
    attempt_keeper_flush_exits(at);
    struct frame ping = attempt_header(at, FRAME_PING);
    if (at->keeper != NULL)
        chan_send(at->keeper, &ping);
}

// Its crash ends the attempt and blames no member.
void attempt_pmix_lost(struct attempt *at)
{
    ERR_AUTO err = ERR_INIT;
    if (at->pmixd != NULL || at->letting_go)
        return;
    err_set(&err,
            "the PMIx server of this attempt (muster-pmixd) was killed or crashed");
    // Its ranks' errors may have been faster, and the stop that they caused: the keeper
    // ends it behind STOPPED only.
    if (at->state == ATTEMPT_STOPPING)
        attempt_report_failure(at, 0, &err);
    else if (at->state < ATTEMPT_FAILED)
        attempt_fail(at, &err);
}

void attempt_pmix_setup(struct attempt *at, const struct attempt_world *w)
{
    const Muster__Prepare *p = w->prepare;
    CLEANUP_FREE uint32_t *app_ranks = xcalloc(p->n_apps, sizeof *app_ranks);
    for (size_t i = 0; i < p->n_apps; i++)
        app_ranks[i] = p->apps[i]->ranks;
    Muster__PmixSetup m = MUSTER__PMIX_SETUP__INIT;
    m.nspace = p->nspace;
    m.n_positions = p->n_positions;
    m.positions = p->positions;
    m.self = w->position != NULL ? w->index : UINT32_MAX;
    m.uid = (uint32_t)getuid();
    m.gid = (uint32_t)getgid();
    m.universe_size = p->universe_size;
    m.tmpdir = at->tmpdir;
    m.first = p->first;
    m.parent = p->parent;
    m.n_app_ranks = p->n_apps;
    m.app_ranks = app_ranks;
    struct frame f = attempt_header(at, FRAME_PMIX_SETUP);
    if (at->pmixd != NULL)
        chan_send_msg(at->pmixd, &f, &m.base);
}

void attempt_pmix_start(struct attempt *at, int fd)
{
    static const struct chan_ops ops = {on_frame, on_closed};
    at->pmixd = chan_create(conf_of(at)->base, fd, fd, &ops, at);
    at->modex = modex_create(MODEX_MAX, on_modex_failed, at);
    for (size_t i = 0; i < at->nworlds; i++)
        attempt_pmix_setup(at, at->worlds[i]);
}

// Another pod asks for the data of a rank here: libpmix would wait for ever for one that
// is gone.
static bool accept_modex(struct attempt *at, const struct frame *f)
{
    Muster__Modex *m = msg_unpack(f, &muster__modex__descriptor, NULL);
    const struct attempt_world *w =
        m != NULL && m->proc != NULL ? attempt_world_find(at, m->proc->nspace) : NULL;
    const struct attempt_rank *r =
        w != NULL ? attempt_world_rank(w, m->proc->rank) : NULL;
    bool accepted = false;
    if (r != NULL && !r->gone)
        accepted = modex_asked(at->modex, f->src, m);
    else if (m != NULL && m->proc != NULL)
        modex_fail(at->modex, f->src, m);
    msg_free(m);
    return accepted;
}

static bool is_ours(const struct attempt *at, const struct frame *f)
{
    Muster__Notify *m = msg_unpack(f, &muster__notify__descriptor, NULL);
    bool ours = m != NULL && m->origin == session_vertex(at->session);
    msg_free(m);
    return ours;
}

void attempt_pmix_frame(struct attempt *at, const struct frame *f)
{
    if (f->kind == FRAME_COLL_DONE)
        coll_result(at, f);
    else if (attempt_pmi1_answer(at, f) || at->pmixd == NULL ||
             (f->kind == FRAME_MODEX && !accept_modex(at, f)) ||
             (f->kind == FRAME_NOTIFY && is_ours(at, f)))
        return;
    else
        chan_send(at->pmixd, f);
}
