// Attach and Prepare messages.
#include "launcher/job_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

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
        set_way(pm, &members->v[i], o);
    }
    return a;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static Muster__Position *make_position(const struct roll *roll,
                                       const struct map_position *at, const char *node)
{
    Muster__Position *p = xmalloc(sizeof *p);
    muster__position__init(p);
    p->vertex = at->member + 1;
    p->name = xstrdup(roll->members[at->member].name);
    p->address = xstrdup(roll->members[at->member].address);
    p->node = xstrdup(node);
    p->n_ranks = at->count;
    p->ranks = xcalloc(at->count, sizeof *p->ranks);
    for (uint32_t i = 0; i < at->count; i++)
        p->ranks[i] = at->first + i;
    return p;
}

static void add_positions(Muster__Prepare *p, const struct roll *roll,
                          const struct map *map)
{
    uint32_t n = map->npositions;
    CLEANUP_FREE struct map_node *nodes = xcalloc(n, sizeof *nodes);
    CLEANUP_FREE const char **names = xcalloc(n, sizeof *names);
    p->loopback = true;
    for (uint32_t i = 0; i < n; i++) {
        const struct roll_member *m = &roll->members[map->positions[i].member];
        nodes[i] = (struct map_node){
            .hostname = m->hostname, .name = m->name, .address = m->address};
        p->loopback = p->loopback && is_loopback(m->address);
    }
    map_node_names(nodes, n, names);
    p->n_positions = n;
    p->positions = xcalloc(n, sizeof(Muster__Position *));
    for (uint32_t i = 0; i < n; i++)
        p->positions[i] = make_position(roll, &map->positions[i], names[i]);
}

Muster__Prepare *job_plan_prepare(const struct roll *roll, const struct map *map,
                                  const struct opts *o, const char *nspace)
{
    Muster__Prepare *p = xmalloc(sizeof *p);
    muster__prepare__init(p);
    p->nspace = xstrdup(nspace);
    p->job_key = xstrdup(roll->job_key);
    p->n_argv = (size_t)o->argc;
    p->argv = copy_strings(o->argv, p->n_argv);
    p->n_env = o->env.n;
    p->env = copy_strings(o->env.v, p->n_env);
    p->wdir = xstrdup(o->wdir != NULL ? o->wdir : "");
    p->pmix = strcmp(o->pmi, "pmix") == 0 || strcmp(o->pmi, "auto") == 0;
    p->pmi1 = strcmp(o->pmi, "pmi1") == 0 || strcmp(o->pmi, "auto") == 0;
    p->grace_ms = o->grace_ms;
    p->universe_size = map->slots > map->ranks ? map->slots : map->ranks;
    add_positions(p, roll, map);
    return p;
}
