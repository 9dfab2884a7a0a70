// Keys, registration and environments of one job.
#include "agent/pmix_job.h"

#include <errno.h>
#include <pmix.h>
#include <pmix_server.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/pmix_info.h"
#include "agent/pmix_map.h"
#include "agent/pmix_proc.h"
#include "common/mem.h"
#include "common/strv.h"

struct pmixd_job {
    char *nspace;
    Muster__PmixReady ready; // points into the rest
    Muster__RankEnv *envs;   // [n_ranks]
    Muster__RankEnv **list;  // [n_ranks]
    struct strv *strings;    // [n_ranks], what envs points at
};

static int check(pmix_status_t rc, const char *what, struct err *err)
{
    if (rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED)
        return 0;
    err_set(err, "libpmix: %s: %s", what, PMIx_Error_string(rc));
    return -1;
}

// ---- keys -------------------------------------------------------------------

static int add_maps(struct pmixd_info *info, const struct pmixd_map *map,
                    struct err *err)
{
    char *nodes = NULL, *ranks = NULL;
    if (check(PMIx_generate_regex(map->nodes, &nodes), "node map", err) < 0)
        return -1;
    pmixd_info_add_regex_steal(info, PMIX_NODE_MAP, nodes);
    if (check(PMIx_generate_ppn(map->ranks, &ranks), "process map", err) < 0)
        return -1;
    pmixd_info_add_regex_steal(info, PMIX_PROC_MAP, ranks);
    return 0;
}

static void add_job(struct pmixd_info *info, const struct pmixd_map *map,
                    const Muster__PmixSetup *s, const char *nsdir)
{
    uint32_t slots = s->universe_size > map->size ? s->universe_size : map->size;
    pmixd_info_add_string(info, PMIX_JOBID, s->nspace);
    pmixd_info_add_u32(info, PMIX_UNIV_SIZE, slots);
    pmixd_info_add_u32(info, PMIX_JOB_SIZE, map->size);
    pmixd_info_add_u32(info, PMIX_MAX_PROCS, map->size);
    pmixd_info_add_u32(info, PMIX_NUM_NODES, (uint32_t)s->n_positions);
    pmixd_info_add_u32(info, PMIX_JOB_NUM_APPS,
                       s->n_app_ranks > 0 ? (uint32_t)s->n_app_ranks : 1);
    pmixd_info_add_string(info, PMIX_TMPDIR, s->tmpdir);
    pmixd_info_add_string(info, PMIX_NSDIR, nsdir);
    pmixd_info_add_bool(info, PMIX_TDIR_RMCLEAN, true); // the agent removes it
}

static void add_parent(struct pmixd_info *info, const Muster__PmixSetup *s)
{
    pmix_proc_t parent;
    if (s->parent == NULL)
        return;
    pmixd_proc_from_wire(&parent, s->parent);
    pmixd_info_add_bool(info, PMIX_SPAWNED, true);
    pmixd_info_add_proc(info, PMIX_PARENT_ID, &parent);
}

// Keys of our own node. They stand in an array that names the node: bare ones would go
// to gethostname(), under which no rank looks for them.
static void add_own_node(struct pmixd_info *info, const struct pmixd_map *map,
                         const Muster__PmixSetup *s)
{
    const Muster__Position *self = s->positions[s->self];
    PMIXD_INFO_AUTO node = PMIXD_INFO_INIT;
    pmixd_info_add_string(&node, PMIX_HOSTNAME, self->node);
    pmixd_info_add_u32(&node, PMIX_NODEID, s->self);
    pmixd_info_add_u32(&node, PMIX_NODE_SIZE, (uint32_t)self->n_ranks);
    pmixd_info_add_u32(&node, PMIX_LOCAL_SIZE, (uint32_t)self->n_ranks);
    pmixd_info_add_string(&node, PMIX_LOCAL_PEERS, map->peers);
    pmixd_info_add_rank(&node, PMIX_LOCALLDR, self->ranks[0]);
    pmixd_info_add_array(info, PMIX_NODE_INFO_ARRAY, &node);
}

static void add_rank(struct pmixd_info *info, const struct pmixd_map *map,
                     const Muster__PmixSetup *s, uint32_t rank)
{
    struct pmixd_place at = map->place[rank];
    PMIXD_INFO_AUTO proc = PMIXD_INFO_INIT;
    pmixd_info_add_rank(&proc, PMIX_RANK, rank); // must be the first
    pmixd_info_add_u32(&proc, PMIX_APPNUM, at.app);
    pmixd_info_add_string(&proc, PMIX_HOSTNAME, s->positions[at.node]->node);
    pmixd_info_add_u32(&proc, PMIX_NODEID, at.node);
    pmixd_info_add_rank(&proc, PMIX_GLOBAL_RANK, s->first + rank);
    pmixd_info_add_u16(&proc, PMIX_LOCAL_RANK, at.local_rank);
    pmixd_info_add_u16(&proc, PMIX_NODE_RANK, at.local_rank);
    pmixd_info_add_array(info, PMIX_PROC_DATA, &proc);
}

static size_t local_ranks(const Muster__PmixSetup *s)
{
    return s->self != PMIXD_NO_POSITION ? s->positions[s->self]->n_ranks : 0;
}

// ---- registration -----------------------------------------------------------

static int register_nspace(const Muster__PmixSetup *s, const struct pmixd_map *map,
                           const char *nsdir, struct err *err)
{
    PMIXD_INFO_AUTO info = PMIXD_INFO_INIT;
    if (add_maps(&info, map, err) < 0)
        return -1;
    add_job(&info, map, s, nsdir);
    add_parent(&info, s);
    if (map->peers != NULL)
        add_own_node(&info, map, s);
    for (uint32_t r = 0; r < map->size; r++)
        add_rank(&info, map, s, r);
    int local = (int)local_ranks(s);
    return check(
        PMIx_server_register_nspace(s->nspace, local, info.v, info.n, NULL, NULL),
        "register the namespace", err);
}

static int register_client(const Muster__PmixSetup *s, uint32_t rank, struct err *err)
{
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, s->nspace, rank);
    return check(PMIx_server_register_client(&proc, s->uid, s->gid, NULL, NULL, NULL),
                 "register a rank", err);
}

static int make_environment(const Muster__PmixSetup *s, uint32_t rank, struct strv *out,
                            struct err *err)
{
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, s->nspace, rank);
    char **env = NULL;
    if (check(PMIx_server_setup_fork(&proc, &env), "environment of a rank", err) < 0)
        return -1;
    for (char **e = env; e != NULL && *e != NULL; e++) {
        strv_putenv(out, *e);
        free(*e);
    }
    free(env);
    // libpmix was started before node and directory were known.
    strv_setenv(out, "PMIX_HOSTNAME", s->positions[s->self]->node);
    strv_setenv(out, "PMIX_SERVER_TMPDIR", s->tmpdir);
    strv_setenv(out, "PMIX_SYSTEM_TMPDIR", s->tmpdir);
    return 0;
}

static int add_client(struct pmixd_job *job, const Muster__PmixSetup *s, size_t i,
                      struct err *err)
{
    uint32_t rank = s->positions[s->self]->ranks[i];
    if (register_client(s, rank, err) < 0 ||
        make_environment(s, rank, &job->strings[i], err) < 0)
        return -1;
    muster__rank_env__init(&job->envs[i]);
    job->envs[i].rank = rank;
    job->envs[i].n_env = job->strings[i].n;
    job->envs[i].env = job->strings[i].v;
    job->list[i] = &job->envs[i];
    return 0;
}

static int make_nsdir(const char *dir, const Muster__PmixSetup *s, struct err *err)
{
    if (mkdir(dir, 0700) == 0 &&
        (s->uid == geteuid() || chown(dir, s->uid, s->gid) == 0))
        return 0;
    err_set_errno(err, errno, "cannot make the ranks' directory %s", dir);
    return -1;
}

static int fill(struct pmixd_job *job, const Muster__PmixSetup *s,
                const struct pmixd_map *map, struct err *err)
{
    CLEANUP_FREE char *nsdir = xasprintf("%s/ns%u", s->tmpdir, s->first);
    if (make_nsdir(nsdir, s, err) < 0 || register_nspace(s, map, nsdir, err) < 0)
        return -1;
    for (size_t i = 0; i < job->ready.n_ranks; i++)
        if (add_client(job, s, i, err) < 0)
            return -1;
    return 0;
}

struct pmixd_job *pmixd_job_create(const Muster__PmixSetup *setup, struct err *err)
{
    struct pmixd_map *map = pmixd_map_create(setup, err);
    if (map == NULL)
        return NULL;
    size_t n = local_ranks(setup);
    struct pmixd_job *job = xcalloc(1, sizeof *job);
    muster__pmix_ready__init(&job->ready);
    job->nspace = xstrdup(setup->nspace);
    job->ready.nspace = job->nspace;
    job->envs = xcalloc(n, sizeof *job->envs);
    job->list = xcalloc(n, sizeof *job->list);
    job->strings = xcalloc(n, sizeof *job->strings);
    job->ready.n_ranks = n;
    job->ready.ranks = job->list;
    if (fill(job, setup, map, err) < 0) {
        pmixd_job_destroy(job);
        job = NULL;
    }
    pmixd_map_destroy(map);
    return job;
}

void pmixd_job_destroy(struct pmixd_job *job)
{
    if (job == NULL)
        return;
    for (size_t i = 0; i < job->ready.n_ranks; i++)
        strv_free(&job->strings[i]);
    free(job->nspace);
    free(job->strings);
    free(job->envs);
    free(job->list);
    free(job);
}

const Muster__PmixReady *pmixd_job_ready(const struct pmixd_job *job)
{
    return &job->ready;
}
