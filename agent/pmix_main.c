// muster-pmixd: the PMIx server of one attempt in one pod.
//
// Started by the agent with fd 3 as its wire (muster.proto, "agent and muster-pmixd").
// libpmix starts at once, so that a server that stands by costs an attempt nothing; a
// PmixReady without a namespace says that it has started. One setup for each world, fences,
// modex and all else until fd 3 closes; then it is gone at once, without libpmix's teardown,
// which can hang. It is never used for a second attempt.
#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/pmix_client.h"
#include "agent/pmix_coll.h"
#include "agent/pmix_dmodex.h"
#include "agent/pmix_init.h"
#include "agent/pmix_job.h"
#include "agent/pmix_log.h"
#include "agent/pmix_names.h"
#include "agent/pmix_notify.h"
#include "agent/pmix_query.h"
#include "agent/pmix_shift.h"
#include "agent/pmix_spawn.h"
#include "agent/pmix_upcall.h"
#include "agent/pmix_version.h"
#include "agent/pmix_wire.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/strv.h"

enum { AGENT_FD = 3, EXIT_BROKEN = 125, LAST_WORDS_MS = 1000 };

struct server {
    struct event_base *base;
    struct log *log;
    struct pmixd_wire *wire;
    struct pmixd_shift *shift;
    struct pmixd_colls *colls;
    struct pmixd_dmodex *dmodex;
    struct pmixd_names *names;
    struct pmixd_spawns *spawns;
    struct pmixd_log logged;
    struct pmixd_clients clients;
    struct pmixd_job **jobs; // one a world
    size_t njobs;
    struct strv nspaces; // of the jobs
    struct pmixd_handler handlers[PMIXD_CALL_KINDS];
};

static void say_error(struct server *s, const char *nspace, const struct err *err)
{
    CLEANUP_FREE char *name = xstrdup(nspace);
    Muster__PmixReady m;
    muster__pmix_ready__init(&m);
    m.error = err->text;
    m.nspace = name;
    pmixd_wire_ready(s->wire, &m);
    pmixd_wire_flush(s->wire, LAST_WORDS_MS);
}

static void say_standing_by(struct server *s)
{
    Muster__PmixReady m = MUSTER__PMIX_READY__INIT;
    prctl(PR_SET_NAME, "pmixd (ready)"); // for ps and top
    pmixd_wire_ready(s->wire, &m);
}

static bool is_registered(const struct server *s, const char *nspace)
{
    for (size_t i = 0; i < s->nspaces.n; i++)
        if (strcmp(s->nspaces.v[i], nspace) == 0)
            return true;
    return false;
}

static void on_setup(void *arg, const Muster__PmixSetup *m)
{
    struct server *s = arg;
    ERR_AUTO err = ERR_INIT;
    struct pmixd_job *job = NULL;
    prctl(PR_SET_NAME, "pmixd (job)");
    if (is_registered(s, m->nspace))
        err_set(&err, "the namespace %s is registered already", m->nspace);
    else
        job = pmixd_job_create(m, &err);
    if (job == NULL) {
        say_error(s, m->nspace, &err);
        return;
    }
    s->jobs = xrealloc(s->jobs, s->njobs + 1, sizeof(struct pmixd_job *));
    s->jobs[s->njobs++] = job;
    strv_add(&s->nspaces, m->nspace);
    pmixd_wire_ready(s->wire, pmixd_job_ready(job));
}

static void on_coll_done(void *arg, const Muster__Coll *m)
{
    pmixd_colls_done(((struct server *)arg)->colls, m);
}

static void on_modex(void *arg, const Muster__Modex *m, uint32_t asker)
{
    pmixd_dmodex_serve(((struct server *)arg)->dmodex, m, asker);
}

static void on_modex_done(void *arg, const Muster__Modex *m)
{
    pmixd_dmodex_done(((struct server *)arg)->dmodex, m);
}

static void on_names_done(void *arg, const Muster__NamesDone *m)
{
    pmixd_names_done(((struct server *)arg)->names, m);
}

static void on_spawn_done(void *arg, const Muster__SpawnDone *m)
{
    pmixd_spawns_done(((struct server *)arg)->spawns, m);
}

static void on_notify(void *arg, const Muster__Notify *m)
{
    pmixd_notify_deliver(m);
}

// Nothing is taken down: libpmix's thread may be in an upcall at this moment.
static void on_closed(void *arg, const struct err *why)
{
    if (strcmp(err_text(why), "closed") == 0)
        _exit(0);
    log_error(((struct server *)arg)->log, "the agent's end: %s", err_text(why));
    _exit(EXIT_BROKEN);
}

// Queued behind the upcalls that wait: a rank's PMIx_Finalize is reported before.
static void answer_ping(void *arg)
{
    pmixd_wire_ping(((struct server *)arg)->wire);
}

static void on_ping(void *arg)
{
    pmixd_shift_to_loop(((struct server *)arg)->shift, answer_ping, arg);
}

// No rank is left. libpmix removes the files that ranks had it note (Open MPI's shared memory)
// as it ends; who waits for that has a bound.
static void on_term(evutil_socket_t signo, short what, void *arg)
{
    PMIx_server_finalize();
    _exit(0);
}

// libpmix's threads, which are there by now, have all signals blocked.
static void let_term_in(struct server *s)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    event_add(evsignal_new(s->base, SIGTERM, on_term, s), NULL);
    sigprocmask(SIG_UNBLOCK, &term, NULL);
}

static const struct pmixd_wire_ops wire_ops = {
    .setup = on_setup,
    .coll_done = on_coll_done,
    .modex = on_modex,
    .modex_done = on_modex_done,
    .names_done = on_names_done,
    .spawn_done = on_spawn_done,
    .notify = on_notify,
    .ping = on_ping,
    .closed = on_closed,
};

// Where two versions cannot, the job ends: an answer would be misread in every rank.
static bool refuse(struct server *s, enum pmixd_feature feature, const char *nspace)
{
    ERR_AUTO err = ERR_INIT;
    if (pmixd_version_check(feature, nspace, &err) == 0)
        return false;
    say_error(s, nspace, &err);
    return true;
}

static void on_group(void *arg, struct pmixd_call *call)
{
    struct server *s = arg;
    bool refused = false;
    for (size_t i = 0; i < call->nprocs && !refused; i++)
        if (i == 0 || strcmp(call->procs[i].nspace, call->procs[i - 1].nspace) != 0)
            refused = refuse(s, PMIXD_GROUPS, call->procs[i].nspace);
    if (refused)
        pmixd_call_free(call);
    else
        pmixd_colls_call(s->colls, call);
}

// libpmix does not say who asks: any rank of this pod.
static void on_modex_call(void *arg, struct pmixd_call *call)
{
    struct server *s = arg;
    bool refused = false;
    for (size_t i = 0; i < s->nspaces.n && !refused; i++)
        refused = refuse(s, PMIXD_MODEX, s->nspaces.v[i]);
    if (refused)
        pmixd_call_free(call);
    else
        pmixd_dmodex_call(s->dmodex, call);
}

static void handle(struct server *s, enum pmixd_call_kind kind, pmixd_call_fn fn,
                   void *arg)
{
    s->handlers[kind] = (struct pmixd_handler){fn, arg};
}

static void set_handlers(struct server *s)
{
    handle(s, PMIXD_CALL_FENCE, pmixd_colls_call, s->colls);
    handle(s, PMIXD_CALL_CONNECT, pmixd_colls_call, s->colls);
    handle(s, PMIXD_CALL_DISCONNECT, pmixd_colls_call, s->colls);
    handle(s, PMIXD_CALL_MODEX, on_modex_call, s);
    handle(s, PMIXD_CALL_ABORT, pmixd_client_abort, &s->clients);
    handle(s, PMIXD_CALL_CONNECTED, pmixd_client_connected, &s->clients);
    handle(s, PMIXD_CALL_FINALIZED, pmixd_client_finalized, &s->clients);
    handle(s, PMIXD_CALL_PUBLISH, pmixd_names_call, s->names);
    handle(s, PMIXD_CALL_LOOKUP, pmixd_names_call, s->names);
    handle(s, PMIXD_CALL_UNPUBLISH, pmixd_names_call, s->names);
    handle(s, PMIXD_CALL_SPAWN, pmixd_spawns_call, s->spawns);
    handle(s, PMIXD_CALL_GROUP, on_group, s);
    handle(s, PMIXD_CALL_UNGROUP, on_group, s);
    handle(s, PMIXD_CALL_NOTIFY, pmixd_notify_call, s->wire);
    handle(s, PMIXD_CALL_LOG, pmixd_log_call, &s->logged);
    handle(s, PMIXD_CALL_QUERY, pmixd_query_call, &s->nspaces);
}

static int build(struct server *s, struct err *err)
{
    s->base = loop_create();
    s->log = log_create(STDERR_FILENO, "muster-pmixd", LOG_LEVEL_WARN);
    s->wire = pmixd_wire_create(s->base, AGENT_FD, s->log, &wire_ops, s, err);
    if (s->wire == NULL)
        return -1;
    s->shift = pmixd_shift_create(s->base, err);
    if (s->shift == NULL)
        return -1;
    s->colls = pmixd_colls_create(s->wire);
    s->dmodex = pmixd_dmodex_create(s->wire, s->shift);
    s->names = pmixd_names_create(s->wire);
    s->spawns = pmixd_spawns_create(s->wire);
    s->logged.wire = s->wire;
    s->clients.wire = s->wire;
    set_handlers(s);
    return 0;
}

int main(void)
{
    struct server s = {0};
    ERR_AUTO err = ERR_INIT;
    signal(SIGPIPE, SIG_IGN);
    if (build(&s, &err) < 0) {
        fprintf(stderr, "muster-pmixd: %s\n", err_text(&err));
        _exit(EXIT_BROKEN);
    }
    if (pmixd_init(pmixd_upcall_module(s.shift, s.handlers), &err) < 0) {
        say_error(&s, "", &err);
        fprintf(stderr, "muster-pmixd: %s\n", err_text(&err));
        _exit(EXIT_BROKEN);
    }
    let_term_in(&s);
    say_standing_by(&s);
    event_base_dispatch(s.base);
    _exit(EXIT_BROKEN); // the loop ends only by a failure of its own
}
