// Attach and Prepare messages.
#include "launcher/job_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/hostname.h"

static char **copy_strings(char *const *texts, size_t n)
{
    char **copy = xcalloc(n, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(texts[i]);
    return copy;
}

// Agents have a port of their own, sshd another; the source's goes before either.
static void set_way(Muster__Member *pm, const struct member *m, const struct opts *o)
{
    uint16_t otherwise = o->via.ssh ? o->via.port : MEMBERS_DEFAULT_PORT;
    pm->port = m->port > 0 ? (uint32_t)m->port : otherwise;
    pm->user = xstrdup(m->user != NULL ? m->user : "");
}

Muster__Attach *job_plan_attach(const struct roll *roll, const struct members *members,
                                const struct opts *o)
{
    Muster__Attach *a = xmalloc(sizeof *a);
    muster__attach__init(a);
    a->fanout = o->fanout;
    a->orphan_grace_ms = o->orphan_grace_ms;
    a->link_grace_ms =
        o->link_grace_ms < o->orphan_grace_ms ? o->link_grace_ms : o->orphan_grace_ms;
    a->heartbeat_ms = o->heartbeat_ms;
    a->connect_ms = o->wait_ms;
    a->job_key = xstrdup(roll->job_key);
    a->n_members = roll->nmembers;
    a->members = xcalloc(roll->nmembers, sizeof(Muster__Member *));
    for (uint32_t i = 0; i < roll->nmembers; i++) {
        const struct roll_member *m = &roll->members[i];
        Muster__Member *pm = a->members[i] = xmalloc(sizeof *pm);
        muster__member__init(pm);
        pm->name = xstrdup(m->name);
        pm->address = xstrdup(m->address);
        pm->hostname = xstrdup("");
        set_way(pm, &members->v[i], o);
    }
    return a;
}

static bool is_loopback(const char *address)
{
    struct sockaddr_storage addr;
    return hostname_literal(address, strlen(address), &addr) &&
           hostname_is_loopback(&addr);
}

static Muster__Position *make_position(const struct job_plan *plan,
                                       const struct map_position *at, const char *node)
{
    const struct roll *roll = plan->roll;
    Muster__Position *p = xmalloc(sizeof *p);
    muster__position__init(p);
    p->vertex = group_vertex_of(plan->group, at->member);
    p->name = xstrdup(roll->members[at->member].name);
    p->address = xstrdup(roll->members[at->member].address);
    p->node = xstrdup(node);
    p->n_ranks = at->count;
    p->ranks = xmemdup(at->ranks, at->count * sizeof *at->ranks);
    return p;
}

// Names are chosen for the whole group, so that a member has the same one in all worlds.
static void name_nodes(const struct roll *roll, const char **names)
{
    CLEANUP_FREE struct map_node *nodes = xcalloc(roll->nmembers, sizeof *nodes);
    for (uint32_t i = 0; i < roll->nmembers; i++)
        nodes[i] = (struct map_node){.hostname = roll->members[i].hostname,
                                     .name = roll->members[i].name,
                                     .address = roll->members[i].address};
    map_node_names(nodes, roll->nmembers, names);
}

static void add_positions(Muster__Prepare *p, const struct job_plan *plan)
{
    const struct roll *roll = plan->roll;
    const struct map *map = plan->map;
    CLEANUP_FREE const char **names = xcalloc(roll->nmembers, sizeof *names);
    name_nodes(roll, names);
    p->n_positions = map->npositions;
    p->positions = xcalloc(p->n_positions, sizeof(Muster__Position *));
    for (uint32_t i = 0; i < map->npositions; i++)
        p->positions[i] =
            make_position(plan, &map->positions[i], names[map->positions[i].member]);
}

static bool all_loopback(const struct roll *roll)
{
    for (uint32_t i = 0; i < roll->nmembers; i++)
        if (!is_loopback(roll->members[i].address))
            return false;
    return true;
}

static Muster__App *make_app(char *const *argv, size_t argc, const char *wdir,
                             uint32_t ranks)
{
    Muster__App *a = xmalloc(sizeof *a);
    muster__app__init(a);
    a->n_argv = argc;
    a->argv = copy_strings(argv, argc);
    a->wdir = xstrdup(wdir);
    a->ranks = ranks;
    return a;
}

// All but the programs.
static Muster__Prepare *make_world(const struct job_plan *plan, const char *nspace)
{
    const struct roll *roll = plan->roll;
    const struct map *map = plan->map;
    const struct opts *o = plan->opts;
    Muster__Prepare *p = xmalloc(sizeof *p);
    muster__prepare__init(p);
    p->nspace = xstrdup(nspace);
    p->job_key = xstrdup(roll->job_key);
    p->n_env = o->apps.v[0].env.n;
    p->env = copy_strings(o->apps.v[0].env.v, p->n_env);
    p->pmix = strcmp(o->pmi, "pmix") == 0 || strcmp(o->pmi, "auto") == 0;
    p->pmi1 = strcmp(o->pmi, "pmi1") == 0 || strcmp(o->pmi, "auto") == 0;
    p->grace_ms = o->grace_ms;
    p->pre_stop_signal = o->pre_stop_signal;
    p->pre_stop_ms = o->pre_stop_signal != 0 ? o->pre_stop_ms : 0;
    p->universe_size = map->slots > map->ranks ? map->slots : map->ranks;
    p->loopback = all_loopback(roll);
    add_positions(p, plan);
    return p;
}

// What it does not say itself, the first one does.
static Muster__App *make_own_app(const struct apps_opts *apps, size_t i, uint32_t ranks)
{
    const struct app_opts *o = &apps->v[i], *first = &apps->v[0];
    const char *wdir = o->wdir != NULL       ? o->wdir
                       : first->wdir != NULL ? first->wdir
                                             : "";
    Muster__App *a = make_app(o->argv, o->argc, wdir, ranks);
    a->n_env = i > 0 ? o->env.n : 0;
    a->env = copy_strings(o->env.v, a->n_env);
    return a;
}

static void add_grid(Muster__Prepare *p, const struct grid *g)
{
    p->n_grid = GRID_AXES;
    p->grid = xcalloc(p->n_grid, sizeof(Muster__Axis *));
    for (size_t i = 0; i < p->n_grid; i++) {
        Muster__Axis *a = p->grid[i] = xmalloc(sizeof *a);
        muster__axis__init(a);
        a->name = xstrdup(grid_axis_text(g->order[i]));
        a->size = g->size[g->order[i]];
    }
}

Muster__Prepare *job_plan_prepare(const struct job_plan *plan, const char *nspace,
                                  const char *reason)
{
    const struct opts *o = plan->opts;
    Muster__Prepare *p = make_world(plan, nspace);
    p->restart_reason = xstrdup(reason != NULL ? reason : "");
    p->input = o->input;
    p->per_node = o->per_node;
    if (o->map.has_grid)
        add_grid(p, &o->map.grid);
    CLEANUP_FREE uint32_t *ranks = xcalloc(o->apps.n, sizeof *ranks);
    apps_opts_share(&o->apps, plan->map->ranks, ranks, NULL); // was checked
    p->n_apps = o->apps.n;
    p->apps = xcalloc(p->n_apps, sizeof(Muster__App *));
    for (size_t i = 0; i < p->n_apps; i++)
        p->apps[i] = make_own_app(&o->apps, i, ranks[i]);
    return p;
}

Muster__Prepare *job_plan_spawn(const struct job_plan *plan,
                                const struct job_plan_spawn *spawn)
{
    const Muster__SpawnRequest *rq = spawn->request;
    Muster__Prepare *p = make_world(plan, spawn->nspace);
    p->world = spawn->number;
    p->first = spawn->first;
    p->parent = xmalloc(sizeof *p->parent);
    muster__proc__init(p->parent);
    p->parent->nspace = xstrdup(rq->parent->nspace);
    p->parent->rank = rq->parent->rank;
    p->pmi1_kvs.len = rq->pmi1_kvs.len;
    p->pmi1_kvs.data = xmemdup(rq->pmi1_kvs.data, rq->pmi1_kvs.len);
    p->n_apps = rq->n_apps;
    p->apps = xcalloc(p->n_apps, sizeof(Muster__App *));
    for (size_t i = 0; i < p->n_apps; i++) {
        const Muster__App *a = rq->apps[i];
        p->apps[i] = make_app(a->argv, a->n_argv, a->wdir, a->ranks);
        p->apps[i]->n_env = a->n_env;
        p->apps[i]->env = copy_strings(a->env, a->n_env);
    }
    return p;
}
