// Programs, grids, commands a node, roles: what fits together, and what follows from it.
#include "launcher/opts_layout.h"

#include <stdlib.h>
#include <string.h>

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
    if (!o->map.has_grid && (o->map.grid_split || o->subgroup > 0))
        return "--grid-allow-split and --grid-subgroup are about a grid: give --grid "
               "with "
               "them";
    return NULL;
}

// Its manifest hands them down from the pod's annotations; the members are in its order.
static int settle_subgroups(struct opts *o, struct err *err)
{
    const char *size = getenv("LWS_SUBGROUP_SIZE");
    const char *type = getenv("LWS_SUBGROUP_POLICY_TYPE");
    bool lws = o->from.found.system != NULL &&
               strcmp(o->from.found.system, "LeaderWorkerSet") == 0;
    if (!o->map.has_grid || o->subgroup > 0 || !lws || size == NULL || size[0] == '\0')
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

static int settle_grid(struct opts *o, struct err *err)
{
    uint32_t ranks = o->map.has_grid ? grid_ranks(&o->map.grid) : 0;
    const uint32_t *size = o->map.grid.size;
    if (!o->map.has_grid || o->map.ranks == 0 || o->map.ranks == ranks) {
        o->map.ranks = o->map.has_grid ? ranks : o->map.ranks;
        return settle_subgroups(o, err);
    }
    err_set(
        err,
        "-n is %u, but --grid has tp %u x pp %u x dp %u = %u ranks: leave out -n, or "
        "change a size",
        o->map.ranks, size[GRID_TP], size[GRID_PP], size[GRID_DP], ranks);
    return -1;
}

// What is one thing for all roles cannot be said of each of them, as they are jobs.
static const char *roles_conflict(const struct opts *o)
{
    if (o->status != NULL)
        return "--status serves one job, each role is one: leave it out";
    if (o->spares > 0)
        return "--spares cannot be shared among roles: leave it out";
    if (o->map.has_grid)
        return "--grid is one for all roles: leave it out";
    if (o->input != 1)
        return "--stdin reaches no role: leave it out";
    if (source_can_grow(&o->source))
        return "roles need a source that names its members in their order: give --pods "
               "or "
               "a hostfile instead of --dns";
    return NULL;
}

static int settle_roles(struct opts *o, struct err *err)
{
    const char *conflict = o->apps.v[0].role != NULL ? roles_conflict(o) : NULL;
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
        return 0;
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
    if (o->apps.v[0].role != NULL && !o->roles.is_part)
        return 0;
    return apps_opts_settle(&o->apps, &o->map.ranks, err);
}

int opts_layout_settle(struct opts *o, struct err *err)
{
    const char *conflict = layout_conflict(o);
    if (conflict != NULL)
        err_set(err, "%s", conflict);
    else if (settle_ranks(o, err) == 0 && settle_grid(o, err) == 0 &&
             settle_texts(o, err) == 0)
        return 0;
    return -1;
}
