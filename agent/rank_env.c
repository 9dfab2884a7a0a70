// Scrubbing and setting of the variables that ranks read.
#include "agent/rank_env.h"

#include <stdbool.h>
#include <string.h>

#include "agent/rank_fds.h"
#include "common/mem.h"
#include "wire/apps.h"
#include "wire/placeholders.h"

// Names that begin so, and these names, belong to some launcher around us.
static const char *const scrubbed_prefixes[] = {
    "PMIX_",
    "PMI_",
    "OMPI_COMM_",
    "OMPI_MCA_ess_",
    "OMPI_MCA_orte_ess_",
    "OMPI_MCA_orte_hnp_",
    "OMPI_MCA_orte_local_daemon_",
    "SLURM_",
    "JSM_",
    "FLUX_JOB_",
    "MPI_LOCAL",
    "MUSTER_ROLE_ADDRS_",
};

static const char *const scrubbed_names[] = {
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "NODE_RANK",
    "LOCAL_SIZE",
    "CROSS_RANK",
    "CROSS_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "OMPI_MCA_ess",
    "OMPI_UNIVERSE_SIZE",
    "TORCHELASTIC_ERROR_FILE",
    "TORCHELASTIC_MAX_RESTARTS",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_USE_AGENT_STORE",
    "MUSTER_ATTEMPT",
    "MUSTER_HOST",
    "MUSTER_JOB",
    "MUSTER_LOCAL_RANK",
    "MUSTER_LOCAL_SIZE",
    "MUSTER_NNODES",
    "MUSTER_NODE_RANK",
    "MUSTER_RANK",
    "MUSTER_RESTART_COUNT",
    "MUSTER_RESTART_REASON",
    "MUSTER_ROLE",
    "MUSTER_ROLES",
    "MUSTER_ROLE_FILE",
    "MUSTER_SIZE",
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static size_t name_len(const char *entry)
{
    return strcspn(entry, "=");
}

static bool is_scrubbed(const char *entry)
{
    size_t len = name_len(entry);
    for (size_t i = 0; i < COUNT(scrubbed_prefixes); i++) {
        size_t n = strlen(scrubbed_prefixes[i]);
        if (n <= len && strncmp(entry, scrubbed_prefixes[i], n) == 0)
            return true;
    }
    for (size_t i = 0; i < COUNT(scrubbed_names); i++)
        if (strlen(scrubbed_names[i]) == len &&
            strncmp(entry, scrubbed_names[i], len) == 0)
            return true;
    return false;
}

static const Muster__Position *own(const struct rank_env *e)
{
    return e->prepare->positions[e->self];
}

static uint32_t world_size(const struct rank_env *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->prepare->n_positions; i++)
        n += e->prepare->positions[i]->n_ranks;
    return (uint32_t)n;
}

static void set_number(struct strv *out, const char *name, uint32_t value)
{
    strv_setenvf(out, name, "%u", value);
}

// The same number under all the names that are read for it.
static void set_numbers(struct strv *out, const char *const *names, size_t n,
                        uint32_t value)
{
    for (size_t i = 0; i < n; i++)
        set_number(out, names[i], value);
}

#define SET_NUMBERS(out, value, ...)                                                   \
    set_numbers(out, (const char *const[]){__VA_ARGS__},                               \
                COUNT(((const char *const[]){__VA_ARGS__})), value)

// ---- common part ------------------------------------------------------------

// Ranks that a node's command starts itself get their numbers from it: those of the command
// would be wrong for them, and are told under Muster's own names only.
static void set_node_sizes(const struct rank_env *e, struct strv *out)
{
    SET_NUMBERS(out, (uint32_t)e->self, "NODE_RANK", "MUSTER_NODE_RANK");
    set_number(out, "MUSTER_NNODES", (uint32_t)e->prepare->n_positions);
    set_number(out, "MUSTER_SIZE", world_size(e));
    set_number(out, "MUSTER_LOCAL_SIZE", (uint32_t)own(e)->n_ranks);
}

static void set_sizes(const struct rank_env *e, struct strv *out)
{
    uint32_t world = world_size(e), local = (uint32_t)own(e)->n_ranks;
    uint32_t universe = e->prepare->universe_size;
    SET_NUMBERS(out, world, "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                "MUSTER_SIZE");
    SET_NUMBERS(out, local, "LOCAL_WORLD_SIZE", "LOCAL_SIZE",
                "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MUSTER_LOCAL_SIZE");
    SET_NUMBERS(out, (uint32_t)e->self, "GROUP_RANK", "NODE_RANK", "MUSTER_NODE_RANK");
    SET_NUMBERS(out, (uint32_t)e->prepare->n_positions, "GROUP_WORLD_SIZE",
                "MUSTER_NNODES");
    set_number(out, "OMPI_UNIVERSE_SIZE", universe > world ? universe : world);
}

static uint32_t restarts(const struct rank_env *e)
{
    return e->attempt > 0 ? e->attempt - 1 : 0;
}

// As torchrun does for ranks.
static void set_elastic(const struct rank_env *e, struct strv *out)
{
    strv_setenv(out, "TORCHELASTIC_RUN_ID", e->prepare->job_key);
    set_number(out, "TORCHELASTIC_RESTART_COUNT", restarts(e));
}

static void set_grid_sizes(const struct rank_env *e, struct strv *out)
{
    for (size_t i = 0; i < e->prepare->n_grid; i++) {
        CLEANUP_FREE char *name = xasprintf("%s_SIZE", e->prepare->grid[i]->name);
        set_number(out, name, e->prepare->grid[i]->size);
    }
}

static void set_job(const struct rank_env *e, struct strv *out)
{
    strv_setenv(out, "MUSTER_JOB", e->prepare->job_key);
    strv_setenv(out, "MUSTER_HOST", own(e)->name);
    set_number(out, "MUSTER_ATTEMPT", e->attempt);
    set_number(out, "MUSTER_RESTART_COUNT", restarts(e));
    if (e->prepare->restart_reason[0] != '\0')
        strv_setenv(out, "MUSTER_RESTART_REASON", e->prepare->restart_reason);
    // Never an empty address: what is not known is not set.
    if (e->go->master_address[0] != '\0')
        strv_setenv(out, "MASTER_ADDR", e->go->master_address);
    if (e->go->master_port != 0)
        set_number(out, "MASTER_PORT", e->go->master_port);
    // Without it Open MPI 4 ranks become singletons under an unknown launcher.
    if (e->pmix != NULL)
        strv_setenv(out, "JSM_JSRUN_PORT", "0");
    if (e->prepare->pmi1) {
        set_number(out, "PMI_FD", RANK_FDS_PMI);
        set_number(out, "PMI_SPAWNED", e->prepare->parent != NULL ? 1 : 0);
    }
}

static void set_role(const struct rank_env *e, struct strv *out)
{
    if (e->role_file == NULL)
        return;
    strv_putenv_all(out, e->prepare->role_env, e->prepare->n_role_env);
    strv_setenv(out, "MUSTER_ROLE_FILE", e->role_file);
}

static void set_unless_set(struct strv *out, const char *name, const char *value)
{
    if (strv_getenv(out, name) == NULL)
        strv_setenv(out, name, value);
}

// What we choose only where neither the image nor the user did.
static void set_open_mpi(const struct rank_env *e, struct strv *out)
{
    // Open MPI leaves loopback out by itself; include and exclude exclude each other.
    if (e->prepare->loopback && strv_getenv(out, "OMPI_MCA_btl_tcp_if_exclude") == NULL)
        set_unless_set(out, "OMPI_MCA_btl_tcp_if_include", "127.0.0.0/8");
    // Its files in a /dev/shm that several pods of one machine share would collide.
    if (e->prepare->loopback && e->prepare->n_positions > 1 && e->tmpdir != NULL)
        set_unless_set(out, "OMPI_MCA_btl_vader_backing_directory", e->tmpdir);
    if (e->cpus != 0 && own(e)->n_ranks > e->cpus)
        set_unless_set(out, "OMPI_MCA_mpi_yield_when_idle", "1");
}

// MPICH 4.2 and newer give up where PMI_SIZE and PMIX_NAMESPACE are both set and nobody
// says which to use. PMI-1 is what each of its builds can.
static void set_mpich(const struct rank_env *e, struct strv *out)
{
    if (e->prepare->pmi1)
        set_unless_set(out, "MPIR_CVAR_PMI_VERSION", "1");
    else if (e->pmix != NULL)
        set_unless_set(out, "MPIR_CVAR_PMI_VERSION", "x");
}

// Set by set_open_mpi() for the parent's pod.
static bool is_chosen(const char *entry)
{
    static const char *const names[] = {
        "OMPI_MCA_btl_tcp_if_include=", "OMPI_MCA_btl_vader_backing_directory=",
        "OMPI_MCA_mpi_yield_when_idle="};
    for (size_t i = 0; i < COUNT(names); i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

// What the user says, with the placeholders of a node's command filled in.
static void set_users(const struct rank_env *e, char *const *env, size_t n,
                      struct strv *out)
{
    STRV_AUTO filled = STRV_INIT;
    if (e->prepare->per_node) {
        struct placeholders p = placeholders_of(e->prepare, e->go, e->self);
        placeholders_fill(&p, env, n, &filled);
        env = filled.v;
    }
    strv_putenv_all(out, env, n);
}

static void set_spawned(const Muster__App *app, struct strv *out)
{
    for (size_t i = 0; i < app->n_env; i++)
        if (!is_scrubbed(app->env[i]) && !is_chosen(app->env[i]))
            strv_putenv(out, app->env[i]);
}

void rank_env_common(const struct rank_env *e, const Muster__App *app,
                     char *const *base, struct strv *out)
{
    for (; *base != NULL; base++)
        if (!is_scrubbed(*base))
            strv_add(out, *base);
    if (e->prepare->per_node) {
        set_node_sizes(e, out);
    } else {
        set_sizes(e, out);
        set_elastic(e, out);
    }
    set_grid_sizes(e, out);
    set_job(e, out);
    set_role(e, out);
    set_users(e, e->prepare->env, e->prepare->n_env, out);
    if (e->prepare->parent != NULL)
        set_spawned(app, out);
    else
        set_users(e, app->env, app->n_env, out);
    if (!e->prepare->per_node)
        set_open_mpi(e, out);
    set_mpich(e, out);
}

// ---- part of one rank -------------------------------------------------------

void rank_env_cross(const struct rank_env *e, size_t local_rank, uint32_t *rank,
                    uint32_t *size)
{
    *rank = *size = 0;
    for (size_t i = 0; i < e->prepare->n_positions; i++) {
        if (e->prepare->positions[i]->n_ranks <= local_rank)
            continue;
        if (i < e->self)
            ++*rank;
        ++*size;
    }
}

static void set_pmix(const struct rank_env *e, uint32_t rank, struct strv *out)
{
    for (size_t i = 0; e->pmix != NULL && i < e->pmix->n_ranks; i++) {
        const Muster__RankEnv *r = e->pmix->ranks[i];
        for (size_t j = 0; r->rank == rank && j < r->n_env; j++)
            strv_putenv(out, r->env[j]);
    }
}

static void drop_names(char *const *env, size_t n, struct strv *out)
{
    for (size_t i = 0; i < n; i++) {
        CLEANUP_FREE char *name = xstrndup(env[i], name_len(env[i]));
        strv_unsetenv(out, name);
    }
}

static void drop_users(const struct rank_env *e, uint32_t rank, struct strv *out)
{
    const Muster__Prepare *p = e->prepare;
    drop_names(p->env, p->n_env, out);
    if (p->parent != NULL || p->n_apps == 0)
        return;
    const Muster__App *app = p->apps[apps_of(p, rank)];
    drop_names(app->env, app->n_env, out);
}

static void set_ranks(const struct rank_env *e, size_t i, uint32_t rank,
                      struct strv *out)
{
    uint32_t local = (uint32_t)i, cross_rank, cross_size;
    rank_env_cross(e, i, &cross_rank, &cross_size);
    SET_NUMBERS(out, rank, "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK");
    // Open MPI's "node rank" counts the ranks of one node.
    SET_NUMBERS(out, local, "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                "OMPI_COMM_WORLD_NODE_RANK", "MPI_LOCALRANKID");
    set_number(out, "CROSS_RANK", cross_rank);
    set_number(out, "CROSS_SIZE", cross_size);
}

// The first axis varies fastest.
static void set_grid_ranks(const struct rank_env *e, uint32_t rank, struct strv *out)
{
    for (size_t i = 0; i < e->prepare->n_grid; i++) {
        const Muster__Axis *a = e->prepare->grid[i];
        uint32_t size = a->size > 0 ? a->size : 1;
        CLEANUP_FREE char *name = xasprintf("%s_RANK", a->name);
        set_number(out, name, rank % size);
        rank /= size;
    }
}

void rank_env_rank(const struct rank_env *e, size_t i, struct strv *out)
{
    uint32_t rank = own(e)->ranks[i];
    if (!e->prepare->per_node)
        set_ranks(e, i, rank, out);
    set_number(out, "MUSTER_RANK", rank);
    set_number(out, "MUSTER_LOCAL_RANK", (uint32_t)i);
    set_grid_ranks(e, rank, out);
    set_pmix(e, rank, out);
    drop_users(e, rank, out);
}
