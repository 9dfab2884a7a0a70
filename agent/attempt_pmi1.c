// PMI-1 of an attempt: what its ranks say there concerns the job.
#include <stdlib.h>

#include "agent/attempt_internal.h"
#include "agent/pmi1.h"
#include "agent/rank_fds.h"
#include "common/log.h"
#include "common/mem.h"

// PMI-1 is for the first world only: what is spawned gets PMIx.
static void said(struct attempt *at, size_t local, bool finalized)
{
    attempt_rank_said(at, &at->worlds[0]->ranks[local], finalized, NULL);
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
    struct attempt *at = arg;
    CLEANUP_FREE char *copy = xstrdup(text);
    Muster__Abort m = MUSTER__ABORT__INIT;
    m.nspace = at->worlds[0]->prepare->nspace;
    m.rank = at->worlds[0]->position->ranks[local];
    m.status = code;
    m.text = copy;
    attempt_up(at, FRAME_ABORT, &m.base);
}

static void on_failed(void *arg, const struct err *err)
{
    attempt_fail(arg, err);
}

static void on_part(void *arg, const Muster__Coll *part)
{
    struct attempt *at = arg;
    ERR_AUTO err = ERR_INIT;
    if (coll_add(at->colls, 0, part, &err) == 0)
        return;
    err_prefix(&err, "PMI-1 barrier");
    attempt_fail(at, &err);
}

int attempt_pmi1_start(struct attempt *at, int sock, struct err *err)
{
    static const struct pmi1_ops ops = {on_connected, on_finalized, on_aborted, on_part,
                                        on_failed};
    const struct agent_conf *ac = agent_conf(session_agent(at->session));
    const struct attempt_world *w = at->worlds[0];
    size_t n = w->position->n_ranks;
    CLEANUP_FREE int *fds = xcalloc(n, sizeof *fds);
    if (rank_fds_give(sock, fds, n, err) < 0)
        return -1;
    struct pmi1_conf conf = {
        .base = ac->base, .log = ac->log, .prepare = w->prepare, .self = w->index};
    at->pmi1 = pmi1_create(&conf, fds, &ops, at);
    return 0;
}
