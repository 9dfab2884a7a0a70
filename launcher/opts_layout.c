// Programs, grids, commands a node, roles: what fits together, and what follows from it.
#include "launcher/opts_layout.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "launcher/grid.h"

// Is this the launcher of all roles, whose jobs are its children's?
static bool leads_roles(const struct opts *o)
{
    return o->apps.v[0].role != NULL && !o->roles.is_part;
}

// Options that are about the same thing, and say different ones.
static const char *layout_conflict(const struct opts *o)
{
    if (o->per_node && o->map.has_grid)
        return "--grid places ranks, and --per-node starts one command on each member, "
               "whose own ranks are its own to place: give one of the two";
    if (o->per_node && (o->map.ppn > 0 || o->map.by_node))
        return "--per-node is one command on each member: leave out --ppn and --map-by";
    if (o->map.has_grid && o->map.by_node)
        return "--grid places the ranks: leave out --map-by node";
    if (!o->map.has_grid && !o->roles.is_part && (o->map.grid_split || o->subgroup > 0))
        return "--grid-allow-split and --grid-subgroup are about a grid: give --grid "
               "with "
               "them";
    return NULL;
}

// Its manifest hands them down from the pod's annotations; the members are in its order. A
// role's members begin anywhere in it.
static int settle_subgroups(struct opts *o, struct err *err)
{
    const char *size = getenv("LWS_SUBGROUP_SIZE");
    const char *type = getenv("LWS_SUBGROUP_POLICY_TYPE");
    bool lws = o->from.found.system != NULL &&
               strcmp(o->from.found.system, "LeaderWorkerSet") == 0;
    if (!o->map.has_grid || o->subgroup > 0 || !lws || o->roles.is_part ||
        size == NULL || size[0] == '\0')
        return 0;
    char *end;
    unsigned long k = strtoul(size, &end, 10);
    if (size[0] < '1' || size[0] > '9' || *end != '\0' || k > UINT16_MAX) {
        err_set(err, "LWS_SUBGROUP_SIZE is '%s', not a number of members from 1", size);
        return -1;
    }
    o->subgroup = (uint32_t)k;
    o->subgroup_leader_apart = type != NULL && strcmp(type, "LeaderExcluded") == 0;
    return 0;
}

// A grid says how many ranks there are. ranks: what -n says, 0: nothing.
static int settle_ranks_of_grid(const struct grid *g, uint32_t *ranks, struct err *err)
{
    uint32_t all = grid_ranks(g);
    if (*ranks == 0 || *ranks == all) {
        *ranks = all;
        return 0;
    }
    err_set(
        err,
        "-n is %u, but --grid has tp %u x pp %u x dp %u = %u ranks: leave out -n, or "
        "change a size",
        *ranks, g->size[GRID_TP], g->size[GRID_PP], g->size[GRID_DP], all);
    return -1;
}

static int settle_grid(struct opts *o, struct err *err)
{
    if (!o->map.has_grid || leads_roles(o))
        return 0;
    if (settle_ranks_of_grid(&o->map.grid, &o->map.ranks, err) < 0)
        return -1;
    return settle_subgroups(o, err);
}

// What is one thing for all roles cannot be said of each of them, as they are jobs.
static const char *roles_conflict(const struct opts *o)
{
    if (o->input != 1)
        return "--stdin reaches no role: leave it out";
    if (source_can_grow(&o->source))
        return "roles need a source that names its members in their order: give --pods "
               "or "
               "a hostfile instead of --dns";
    return NULL;
}

// The launcher of all roles.
static int settle_all_roles(struct opts *o, struct err *err)
{
    for (size_t i = 0; i < o->apps.n; i++) {
        struct app_opts *app = &o->apps.v[i];
        if (!app->has_grid || settle_ranks_of_grid(&app->grid, &app->ranks, err) == 0)
            continue;
        err_prefix(err, "--role %s", app->role);
        return -1;
    }
    if (o->status == NULL)
        return 0;
    CLEANUP_FREE char *last = roles_opts_status(o->status, o->apps.n - 1, err);
    return last != NULL ? 0 : -1;
}

// Without roles, what is the run's stands with the first program.
static int check_further(const struct apps_opts *apps, struct err *err)
{
    for (size_t i = 1; i < apps->n; i++) {
        const char *option = apps->v[i].has_grid     ? "--grid"
                             : apps->v[i].spares > 0 ? "--spares"
                                                     : NULL;
        if (option == NULL)
            continue;
        err_set(
            err,
            "%s of %s: programs without roles are one world, which has one: give it "
            "before the first program, or give each program its --role",
            option, apps->v[i].argv[0]);
        return -1;
    }
    return 0;
}

static int settle_roles(struct opts *o, struct err *err)
{
    bool has_roles = o->apps.v[0].role != NULL;
    const char *conflict = has_roles ? roles_conflict(o) : NULL;
    if (o->roles.is_part) {
        if (o->roles.to == 0)
            o->apps.v[0].ranks = 0; // what stands of -n is the first role's
        o->output.role = o->apps.v[0].role;
        return 0;
    }
    if (conflict != NULL)
        err_set(err, "%s", conflict);
    else if (roles_opts_check(&o->roles, &o->apps, err) < 0)
        return -1;
    else if (o->roles.option == NULL || o->policy.on_failure == POLICY_RESTART)
        return has_roles ? settle_all_roles(o, err) : check_further(&o->apps, err);
    else
        err_set(err, "%s is about restarts: give --on-failure restart with it",
                o->roles.option);
    return -1;
}

static int settle_texts(struct opts *o, struct err *err)
{
    if (!o->per_node)
        return 0;
    o->map.ppn = 1;
    return apps_opts_settle_texts(&o->apps, err);
}

// Roles have their ranks from their own launchers.
static int settle_ranks(struct opts *o, struct err *err)
{
    if (settle_roles(o, err) < 0)
        return -1;
    if (leads_roles(o))
        return 0;
    return apps_opts_settle(&o->apps, &o->map.ranks, err);
}

// What programs have of their own is the run's with one job, and with roles each role's.
static void take_own(struct opts *o)
{
    const struct app_opts *first = &o->apps.v[0];
    if (leads_roles(o)) {
        for (size_t i = 0; i < o->apps.n; i++)
            o->map.has_grid = o->map.has_grid || o->apps.v[i].has_grid;
        return;
    }
    o->map.has_grid = first->has_grid;
    o->map.grid = first->grid;
    o->spares = first->spares;
}

int opts_layout_settle(struct opts *o, struct err *err)
{
    take_own(o);
    const char *conflict = layout_conflict(o);
    if (conflict != NULL)
        err_set(err, "%s", conflict);
    else if (settle_ranks(o, err) == 0 && settle_grid(o, err) == 0 &&
             settle_texts(o, err) == 0)
        return 0;
    return -1;
}

uint32_t opts_layout_each(const struct opts *o)
{
    if (o->map.ppn > 0)
        return o->map.ppn;
    return o->source.slots > 0 ? (uint32_t)o->source.slots : 0;
}
