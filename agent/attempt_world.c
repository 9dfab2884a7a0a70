// The worlds of an attempt: the one that the user asked for, and what its ranks spawn.
//
// Every pod knows every world, whether it hosts ranks of it or not: collectives across
// worlds pass through it, and its PMIx server tells its ranks of the others' jobs. A pod
// without any rank has no keeper; it gets one with the first world that has ranks here.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attempt_internal.h"
#include "agent/master_port.h"
#include "agent/pmi1.h"
#include "agent/preflight.h"
#include "common/mem.h"
#include "common/strv.h"
#include "wire/msg.h"

static const Muster__Position *find_position(const Muster__Prepare *p, uint32_t vertex,
                                             uint32_t *index)
{
    for (*index = 0; *index < p->n_positions; ++*index)
        if (p->positions[*index]->vertex == vertex)
            return p->positions[*index];
    return NULL;
}

int attempt_world_add(struct attempt *at, Muster__Prepare *prepare, struct err *err)
{
    struct attempt_world *w = xcalloc(1, sizeof *w);
    w->attempt = at;
    w->prepare = prepare;
    w->position = find_position(prepare, session_vertex(at->session), &w->index);
    if (prepare->world != at->nworlds)
        err_set(err, "world %u was sent, but world %zu is the next", prepare->world,
                at->nworlds);
    else if (attempt_coll_add(at, prepare, err) == 0) {
        if (w->position != NULL)
            w->ranks = xcalloc(w->position->n_ranks, sizeof *w->ranks);
        at->worlds =
            xrealloc(at->worlds, at->nworlds + 1, sizeof(struct attempt_world *));
        at->worlds[at->nworlds++] = w;
        return 0;
    }
    attempt_world_free(w);
    return -1;
}

void attempt_world_free(struct attempt_world *w)
{
    for (size_t i = 0; w->ranks != NULL && i < w->position->n_ranks; i++)
        msg_free(w->ranks[i].exited);
    for (size_t i = 0; w->programs != NULL && i < w->prepare->n_apps; i++)
        free(w->programs[i]);
    pmi1_destroy(w->pmi1);
    free(w->programs);
    free(w->ranks);
    msg_free(w->pmix_ready);
    msg_free(w->prepare);
    free(w);
}

// ---- finding ------------------------------------------------------------------

struct attempt_world *attempt_world_find(const struct attempt *at, const char *nspace)
{
    for (size_t i = 0; i < at->nworlds; i++)
        if (strcmp(at->worlds[i]->prepare->nspace, nspace) == 0)
            return at->worlds[i];
    return NULL;
}

struct attempt_rank *attempt_world_rank(const struct attempt_world *w, uint32_t rank)
{
    for (size_t i = 0; w->position != NULL && i < w->position->n_ranks; i++)
        if (w->position->ranks[i] == rank)
            return &w->ranks[i];
    return NULL;
}

struct attempt_world *attempt_world_of(const struct attempt *at, uint32_t number)
{
    for (size_t i = at->nworlds; i-- > 0;)
        if (number >= at->worlds[i]->prepare->first)
            return at->worlds[i];
    return NULL;
}

struct attempt_rank *attempt_rank(const struct attempt *at, uint32_t number)
{
    const struct attempt_world *w = attempt_world_of(at, number);
    return w != NULL ? attempt_world_rank(w, number - w->prepare->first) : NULL;
}

bool attempt_hosts(const struct attempt *at)
{
    for (size_t i = 0; i < at->nworlds; i++)
        if (at->worlds[i]->position != NULL)
            return true;
    return false;
}

// ---- preparing ----------------------------------------------------------------

static const char *path_in(char *const *env, size_t n)
{
    for (size_t i = n; i-- > 0;)
        if (strncmp(env[i], "PATH=", 5) == 0)
            return env[i] + 5;
    return NULL;
}

// Of the ranks: what the user forwards (-x) counts before the container's, and the program's
// own before that of all. A spawned one's is its parent's.
static const char *path_of_ranks(const Muster__Prepare *p, const Muster__App *app)
{
    const char *own = p->parent == NULL ? path_in(app->env, app->n_env) : NULL;
    const char *all = own != NULL ? own : path_in(p->env, p->n_env);
    return all != NULL ? all : getenv("PATH");
}

// So that a program beside it can be named from within it.
static void make_wdir_absolute(Muster__App *app)
{
    char cwd[PATH_MAX];
    if (app->wdir[0] == '\0' || app->wdir[0] == '/' || getcwd(cwd, sizeof cwd) == NULL)
        return;
    char *whole = xasprintf("%s/%s", cwd, app->wdir);
    free(app->wdir);
    app->wdir = whole;
}

static int check_apps(const Muster__Prepare *p, struct err *err)
{
    size_t named = 0;
    for (size_t i = 0; i < p->n_apps; i++)
        named += p->apps[i]->n_argv > 0;
    if (named > 0 && named == p->n_apps)
        return 0;
    err_set(err, "PREPARE without a program");
    return -1;
}

static void look_up(struct attempt *at, struct attempt_world *w)
{
    const Muster__Prepare *p = w->prepare;
    CLEANUP_FREE Muster__LookupProgram *programs = xcalloc(p->n_apps, sizeof *programs);
    CLEANUP_FREE Muster__LookupProgram **list = xcalloc(p->n_apps, sizeof *list);
    for (size_t i = 0; i < p->n_apps; i++) {
        const char *path = path_of_ranks(p, p->apps[i]);
        make_wdir_absolute(p->apps[i]);
        muster__lookup_program__init(&programs[i]);
        programs[i].name = p->apps[i]->argv[0];
        programs[i].path = (char *)(uintptr_t)(path != NULL ? path : ""); // only read
        programs[i].wdir = p->apps[i]->wdir;
        list[i] = &programs[i];
    }
    Muster__Lookup m = MUSTER__LOOKUP__INIT;
    m.world = p->world;
    m.programs = list;
    m.n_programs = p->n_apps;
    attempt_keeper_look_up(at, &m);
}

static int make_tmpdir(struct attempt *at, struct err *err)
{
    const char *top = getenv("TMPDIR");
    at->tmpdir =
        xasprintf("%s/muster-XXXXXX", top != NULL && top[0] == '/' ? top : "/tmp");
    if (mkdtemp(at->tmpdir) != NULL)
        return 0;
    err_set_errno(err, errno,
                  "cannot make a directory %s as uid %u (set TMPDIR of musterd)",
                  at->tmpdir, (unsigned)geteuid());
    free(at->tmpdir);
    at->tmpdir = NULL;
    return -1;
}

static int prepare(struct attempt *at, struct attempt_world *w, struct err *err)
{
    if (w->position != NULL && check_apps(w->prepare, err) < 0)
        return -1;
    if (at->keeper == NULL) { // the PMIx server gets all worlds as it starts
        if ((at->tmpdir == NULL && make_tmpdir(at, err) < 0) ||
            attempt_roles_begin(at, err) < 0 || attempt_keeper_start(at, err) < 0)
            return -1;
    } else if (at->worlds[0]->prepare->pmix) {
        attempt_pmix_setup(at, w);
    }
    if (w->position != NULL)
        look_up(at, w);
    attempt_world_check(at, w);
    return 0;
}

// The first one that cannot be prepared here leaves nothing; a further one concerns only
// whoever spawned it.
static void cannot_prepare(struct attempt *at, struct attempt_world *w,
                           const struct err *err)
{
    w->said = true;
    if (w->prepare->world == 0)
        attempt_fail(at, err);
    else
        attempt_report_failure(at, w->prepare->world, err);
}

// Also while its keeper is gone, or let go, and what that leaves is hunted: another one would
// be hunted with it.
static bool is_lost(const struct attempt *at)
{
    return at->state == ATTEMPT_FAILED || at->letting_go || at->strays_left > 0;
}

void attempt_world_begin(struct attempt *at)
{
    ERR_AUTO err = ERR_INIT;
    struct attempt_world *w = at->worlds[at->nworlds - 1];
    if (!attempt_hosts(at) || at->state > ATTEMPT_FAILED)
        return;
    w->begun = true;
    if (is_lost(at)) {
        err_set(&err, "nothing is started any more after an earlier failure");
        cannot_prepare(at, w, &err);
        return;
    }
    attempt_arm_bound(at);
    if (w->prepare->world == 0)
        attempt_roll_wait(at);
    if (prepare(at, w, &err) < 0)
        cannot_prepare(at, w, &err);
}

static uint32_t local_ranks(const struct attempt_world *w)
{
    return w->position != NULL ? (uint32_t)w->position->n_ranks : 0;
}

static int pick_master_port(struct attempt *at, uint32_t *picked, struct err *err)
{
    const char *address = session_local_address(at->session);
    uint16_t port = master_port_pick(agent_master_port(session_agent(at->session)),
                                     address[0] != '\0' ? address : NULL, err);
    *picked = port;
    return port != 0 ? 0 : -1;
}

static bool lacks_programs(const struct attempt_world *w)
{
    return w->position != NULL && w->programs == NULL;
}

static bool lacks_pmix(const struct attempt *at, const struct attempt_world *w)
{
    return at->worlds[0]->prepare->pmix && w->pmix_ready == NULL;
}

static bool lacks_files(const struct attempt *at, const struct attempt_world *w)
{
    return w->prepare->world == 0 && at->roll_wait != NULL;
}

char *attempt_world_missing(const struct attempt *at)
{
    const struct attempt_world *w = at->worlds[at->nworlds - 1];
    if (!lacks_programs(w))
        return xstrdup(lacks_pmix(at, w)
                           ? "the PMIx server (muster-pmixd) was not ready"
                           : "the pod's hosts and hostfiles were not ready");
    const Muster__App *app = w->prepare->apps[0];
    const char *dir = app->wdir[0] != '\0' ? app->wdir : ".";
    return xasprintf("program %s, its PATH or working directory %s: "
                     "the file system did not answer",
                     app->argv[0], dir);
}

static void say_ready(struct attempt *at, struct attempt_world *w)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Ready m = MUSTER__READY__INIT;
    m.world = w->prepare->world;
    if (w->index == 0 && pick_master_port(at, &m.master_port, &err) < 0) {
        cannot_prepare(at, w, &err);
        return;
    }
    w->said = true;
    if (w->prepare->world == 0)
        at->master_port = (uint16_t)m.master_port;
    STRV_AUTO warnings = STRV_INIT;
    struct preflight look = {.ranks = local_ranks(w)};
    preflight_look(&look);
    preflight_warn(&look, &warnings);
    if (w->prepare->world == 0 && at->roll_note != NULL)
        strv_add(&warnings, at->roll_note);
    if (w->prepare->world == 0 && session_note(at->session) != NULL)
        strv_add(&warnings, session_note(at->session));
    m.n_warnings = warnings.n;
    m.warnings = warnings.v;
    if (w->position != NULL)
        attempt_event(at, ATTEMPT_EV_PREPARED);
    attempt_up(at, FRAME_READY, &m.base);
}

// Not of an earlier world, which a PMIx server that starts late gets, too.
static bool is_due(const struct attempt *at, const struct attempt_world *w)
{
    return w->begun && !w->said && at->state < ATTEMPT_FAILED;
}

void attempt_world_check(struct attempt *at, struct attempt_world *w)
{
    if (is_due(at, w) && !lacks_programs(w) && !lacks_pmix(at, w) &&
        !lacks_files(at, w))
        say_ready(at, w);
}

void attempt_world_found(struct attempt *at, const Muster__LookupDone *m)
{
    ERR_AUTO err = ERR_INIT;
    struct attempt_world *w = m->world < at->nworlds ? at->worlds[m->world] : NULL;
    if (w == NULL || !is_due(at, w) || !lacks_programs(w))
        return;
    if (m->error[0] != '\0' || m->n_paths != w->prepare->n_apps) {
        err_set_kind(&err, NULL, (int)m->code, "%s",
                     m->error[0] != '\0' ? m->error : "not all programs were found");
        cannot_prepare(at, w, &err);
        return;
    }
    w->programs = xcalloc(m->n_paths, sizeof *w->programs);
    for (size_t i = 0; i < m->n_paths; i++)
        w->programs[i] = xstrdup(m->paths[i]);
    attempt_world_check(at, w);
}
