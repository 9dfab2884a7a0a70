// PMI-1 of an attempt: what its ranks say there concerns the job.
#include <stdlib.h>

#include "agent/attempt_internal.h"
#include "agent/pmi1.h"
#include "agent/rank_fds.h"
#include "common/log.h"
#include "common/mem.h"
#include "wire/msg.h"

// Ids of what PMI-1 ranks ask for, apart from muster-pmixd's, which count from 1:
// this bit, the world, the local rank. A rank asks for one thing at a time.
#define ASKED_HERE (UINT64_C(1) << 63)

static uint64_t asked_id(const struct attempt_world *w, size_t local)
{
    return ASKED_HERE | (uint64_t)w->prepare->world << 32 | (uint32_t)local;
}

static void said(struct attempt_world *w, size_t local, bool finalized)
{
    attempt_rank_said(w->attempt, &w->ranks[local], finalized, NULL);
}

static void on_connected(void *arg, size_t local)
{
    said(arg, local, false);
}

static void on_finalized(void *arg, size_t local)
{
    said(arg, local, true);
}

static void on_aborted(void *arg, size_t local, int code, const char *text)
{
    struct attempt_world *w = arg;
    CLEANUP_FREE char *copy = xstrdup(text);
    Muster__Abort m = MUSTER__ABORT__INIT;
    m.nspace = w->prepare->nspace;
    m.rank = w->position->ranks[local];
    m.status = code;
    m.text = copy;
    attempt_up(w->attempt, FRAME_ABORT, &m.base);
}

static void on_failed(void *arg, const struct err *err)
{
    struct attempt_world *w = arg;
    attempt_fail(w->attempt, err);
}

static void on_part(void *arg, const Muster__Coll *part)
{
    struct attempt_world *w = arg;
    ERR_AUTO err = ERR_INIT;
    if (coll_add(w->attempt->colls, 0, part, &err) == 0)
        return;
    err_prefix(&err, "PMI-1 barrier");
    attempt_fail(w->attempt, &err);
}

static void on_names(void *arg, size_t local, Muster__Names *request)
{
    struct attempt_world *w = arg;
    request->id = asked_id(w, local);
    attempt_up(w->attempt, FRAME_NAMES, &request->base);
}

static void on_spawn(void *arg, size_t local, Muster__SpawnRequest *request)
{
    struct attempt_world *w = arg;
    request->id = asked_id(w, local);
    attempt_up(w->attempt, FRAME_SPAWN_REQUEST, &request->base);
}

int attempt_pmi1_start(struct attempt *at, struct attempt_world *w, struct err *err)
{
    static const struct pmi1_ops ops = {on_connected, on_finalized, on_aborted, on_part,
                                        on_failed,    on_names,     on_spawn};
    const struct agent_conf *ac = agent_conf(session_agent(at->session));
    size_t n = w->position->n_ranks;
    CLEANUP_FREE int *fds = xcalloc(n, sizeof *fds);
    if (rank_fds_give(at->pmi_sock, fds, n, err) < 0)
        return -1;
    struct pmi1_conf conf = {
        .base = ac->base, .log = ac->log, .prepare = w->prepare, .self = w->index};
    w->pmi1 = pmi1_create(&conf, fds, &ops, w);
    return 0;
}

void attempt_pmi1_result(struct attempt *at, const Muster__Coll *result)
{
    const struct attempt_world *w =
        result->n_procs == 1 ? attempt_world_find(at, result->procs[0]->nspace) : NULL;
    if (w != NULL && w->pmi1 != NULL)
        pmi1_result(w->pmi1, result);
}

// NULL where the id is not one of ours.
static struct pmi1 *asked_by(const struct attempt *at, uint64_t id, size_t *local)
{
    uint64_t world = (id & ~ASKED_HERE) >> 32;
    *local = (uint32_t)id;
    return world < at->nworlds ? at->worlds[world]->pmi1 : NULL;
}

static bool names_done(struct attempt *at, const struct frame *f)
{
    size_t local;
    Muster__NamesDone *m = msg_unpack(f, &muster__names_done__descriptor, NULL);
    bool ours = m != NULL && (m->id & ASKED_HERE) != 0;
    struct pmi1 *p = ours ? asked_by(at, m->id, &local) : NULL;
    if (p != NULL)
        pmi1_names_done(p, local, m);
    msg_free(m);
    return ours;
}

static bool spawn_done(struct attempt *at, const struct frame *f)
{
    size_t local;
    Muster__SpawnDone *m = msg_unpack(f, &muster__spawn_done__descriptor, NULL);
    bool ours = m != NULL && (m->id & ASKED_HERE) != 0;
    struct pmi1 *p = ours ? asked_by(at, m->id, &local) : NULL;
    if (p != NULL)
        pmi1_spawn_done(p, local, m);
    msg_free(m);
    return ours;
}

bool attempt_pmi1_answer(struct attempt *at, const struct frame *f)
{
    if (f->kind == FRAME_NAMES_DONE)
        return names_done(at, f);
    return f->kind == FRAME_SPAWN_DONE && spawn_done(at, f);
}
