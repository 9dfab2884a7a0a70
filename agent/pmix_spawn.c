// Spawn requests between libpmix and the wire.
#include "agent/pmix_spawn.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "agent/pmix_proc.h"
#include "agent/pmix_shift.h"
#include "agent/pmix_wire.h"
#include "common/mem.h"
#include "common/strv.h"

struct asked {
    UT_hash_handle hh;
    uint64_t id;
    struct pmixd_call *call;
};

struct pmixd_spawns {
    struct pmixd_wire *wire;
    uint64_t last_id;
    struct asked *asked;
};

struct pmixd_spawns *pmixd_spawns_create(struct pmixd_wire *wire)
{
    struct pmixd_spawns *s = xcalloc(1, sizeof *s);
    s->wire = wire;
    return s;
}

void pmixd_spawns_destroy(struct pmixd_spawns *s)
{
    if (s == NULL)
        return;
    struct asked *a, *next;
    HASH_ITER (hh, s->asked, a, next) {
        HASH_DEL(s->asked, a);
        pmixd_call_free(a->call);
        free(a);
    }
    free(s);
}

static size_t count(char *const *v)
{
    size_t n = 0;
    while (v != NULL && v[n] != NULL)
        n++;
    return n;
}

// In MPI_Comm_spawn of Open MPI 4 ("ompi"; 5 says "ompi5") an error makes the root return
// and leaves the communicator's other ranks in a broadcast for ever.
static bool strands_peers(const pmix_info_t *info)
{
    return PMIX_CHECK_KEY(info, PMIX_PERSONALITY) && info->value.type == PMIX_STRING &&
           info->value.data.string != NULL &&
           strcmp(info->value.data.string, "ompi") == 0;
}

// Mapping and binding beyond hosts are the launcher's: other directives are hints that
// may be passed over.
static void take_info(Muster__SpawnRequest *m, struct strv *hosts,
                      const pmix_info_t *info, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        m->strands_peers = m->strands_peers || strands_peers(&info[i]);
        if (PMIX_CHECK_KEY(&info[i], PMIX_NON_PMI))
            m->non_pmi = m->non_pmi || PMIX_INFO_TRUE(&info[i]);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_HOST) &&
                 info[i].value.type == PMIX_STRING && info[i].value.data.string != NULL)
            strv_add_split(hosts, info[i].value.data.string, ',');
    }
}

// argv[0] is the program where the caller did not put it there.
static void fill_app(Muster__App *out, char **command, pmix_app_t *app)
{
    muster__app__init(out);
    out->argv = app->argv;
    out->n_argv = count(app->argv);
    if (out->n_argv == 0 && app->cmd != NULL) {
        *command = app->cmd;
        out->argv = command;
        out->n_argv = 1;
    }
    out->env = app->env;
    out->n_env = count(app->env);
    if (app->cwd != NULL)
        out->wdir = app->cwd;
    out->ranks = app->maxprocs > 0 ? (uint32_t)app->maxprocs : 0;
}

static void send_request(struct pmixd_spawns *s, struct pmixd_call *call, uint64_t id)
{
    STRV_AUTO hosts = STRV_INIT;
    CLEANUP_FREE Muster__App *apps = xcalloc(call->napps, sizeof *apps);
    CLEANUP_FREE Muster__App **list = xcalloc(call->napps, sizeof *list);
    CLEANUP_FREE char **commands = xcalloc(call->napps, sizeof *commands);
    Muster__Proc parent;
    Muster__SpawnRequest m;
    muster__spawn_request__init(&m);
    pmixd_proc_to_wire(&parent, &call->proc);
    take_info(&m, &hosts, call->info, call->ninfo);
    for (size_t i = 0; i < call->napps; i++) {
        take_info(&m, &hosts, call->apps[i].info, call->apps[i].ninfo);
        fill_app(&apps[i], &commands[i], &call->apps[i]);
        list[i] = &apps[i];
    }
    m.id = id;
    m.parent = &parent;
    m.apps = list;
    m.n_apps = call->napps;
    m.hosts = hosts.v;
    m.n_hosts = hosts.n;
    pmixd_wire_spawn(s->wire, &m);
}

void pmixd_spawns_call(void *spawns, struct pmixd_call *call)
{
    struct pmixd_spawns *s = spawns;
    struct asked *a = xcalloc(1, sizeof *a);
    a->id = ++s->last_id;
    a->call = call;
    HASH_ADD(hh, s->asked, id, sizeof a->id, a);
    send_request(s, call, a->id);
}

// On libpmix's thread: what it does about output that the parent asked for takes no lock.
static void complete(void *arg)
{
    struct pmixd_call *call = arg;
    call->spawn(call->status, call->text, call->cbdata);
    pmixd_call_free(call);
}

void pmixd_spawns_done(struct pmixd_spawns *s, const Muster__SpawnDone *done)
{
    struct asked *a;
    HASH_FIND(hh, s->asked, &done->id, sizeof done->id, a);
    if (a == NULL)
        return;
    HASH_DEL(s->asked, a);
    bool ok = done->nspace[0] != '\0';
    a->call->status = ok ? PMIX_SUCCESS : PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    a->call->text = ok ? xstrdup(done->nspace) : NULL;
    pmixd_shift_to_pmix(complete, a->call);
    free(a);
}
