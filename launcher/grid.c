// Greedy: pipelines one after the other, each in the smallest place that holds it whole.
#include "launcher/grid.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "launcher/map.h"

static const char *const names[GRID_AXES] = {"tp", "pp", "dp"};
static const char *const upper[GRID_AXES] = {"TP", "PP", "DP"};

const char *grid_axis_text(enum grid_axis_name name)
{
    return upper[name];
}

// ---- numbering --------------------------------------------------------------

static int bad_axis(const char *text, const char *at, const char *why, struct err *err)
{
    err_set(
        err,
        "column %td: '%.*s' %s; write the axes as tp=8,pp=4,dp=2, the fastest first",
        at - text + 1, (int)strcspn(at, ","), at, why);
    return -1;
}

static uint32_t read_size(const char *at)
{
    char *end;
    unsigned long v = strtoul(at, &end, 10);
    bool whole = at[0] >= '1' && at[0] <= '9' && (*end == ',' || *end == '\0');
    return whole && v <= MAP_RANKS_MAX ? (uint32_t)v : 0;
}

static int read_axis(const char *text, const char *at, struct grid *g, uint32_t *n,
                     struct err *err)
{
    enum grid_axis_name axis = GRID_TP;
    while (axis < GRID_AXES && (strncmp(at, names[axis], 2) != 0 || at[2] != '='))
        axis++;
    if (axis == GRID_AXES)
        return bad_axis(text, at, "is no axis: there are tp, pp and dp", err);
    if (g->size[axis] > 0)
        return bad_axis(text, at, "comes twice", err);
    if (axis == GRID_TP && *n > 0)
        return bad_axis(
            text, at, "has to come first: its groups are ranks that follow each other",
            err);
    g->size[axis] = read_size(at + 3);
    if (g->size[axis] == 0)
        return bad_axis(text, at, "has no size: give a whole number from 1", err);
    g->order[(*n)++] = axis;
    return 0;
}

// Axes that were not named have one place, and come last, but for tp.
static void add_rest(struct grid *g, uint32_t n)
{
    if (g->size[GRID_TP] == 0) {
        memmove(g->order + 1, g->order, n * sizeof *g->order);
        g->order[0] = GRID_TP;
        g->size[GRID_TP] = 1;
        n++;
    }
    for (enum grid_axis_name axis = GRID_PP; axis < GRID_AXES; axis++) {
        if (g->size[axis] > 0)
            continue;
        g->size[axis] = 1;
        g->order[n++] = axis;
    }
}

int grid_parse(const char *text, struct grid *g, struct err *err)
{
    uint32_t n = 0;
    *g = (struct grid){0};
    for (const char *at = text;; at += strcspn(at, ",") + 1) {
        if (read_axis(text, at, g, &n, err) < 0)
            return -1;
        if (strchr(at, ',') == NULL)
            break;
    }
    add_rest(g, n);
    uint64_t ranks = (uint64_t)g->size[GRID_TP] * g->size[GRID_PP];
    if (ranks <= MAP_RANKS_MAX && ranks * g->size[GRID_DP] <= MAP_RANKS_MAX)
        return 0;
    err_set(err, "%u x %u x %u ranks: at most %d", g->size[GRID_TP], g->size[GRID_PP],
            g->size[GRID_DP], MAP_RANKS_MAX);
    return -1;
}

uint32_t grid_ranks(const struct grid *g)
{
    return g->size[GRID_TP] * g->size[GRID_PP] * g->size[GRID_DP];
}

uint32_t grid_rank(const struct grid *g, const uint32_t at[GRID_AXES])
{
    uint32_t rank = 0;
    for (int i = GRID_AXES - 1; i >= 0; i--)
        rank = rank * g->size[g->order[i]] + at[g->order[i]];
    return rank;
}

// ---- places -----------------------------------------------------------------

// Members [from, to).
struct range {
    uint32_t from, to;
};

struct placing {
    const struct grid *g;
    bool allow_split;
    struct grid_room *rooms;
    struct range all; // but for the first ones, when they are full
    uint32_t *member; // by rank
};

// Ranks that a range can take in whole groups, or split ones.
static uint64_t free_in(const struct placing *p, struct range r)
{
    uint64_t sum = 0;
    uint32_t tp = p->g->size[GRID_TP];
    for (uint32_t i = r.from; i < r.to; i++)
        sum += p->allow_split ? p->rooms[i].free : p->rooms[i].free / tp * tp;
    return sum;
}

static struct range domain_from(const struct placing *p, uint32_t from, uint32_t to)
{
    struct range r = {from, from};
    while (r.to < to && p->rooms[r.to].domain == p->rooms[from].domain)
        r.to++;
    return r;
}

static bool find_member(const struct placing *p, struct range in, uint32_t need,
                        struct range *found)
{
    for (uint32_t i = in.from; i < in.to; i++) {
        *found = (struct range){i, i + 1};
        if (free_in(p, *found) >= need)
            return true;
    }
    return false;
}

static bool find_domain(const struct placing *p, struct range in, uint32_t need,
                        struct range *found)
{
    for (uint32_t i = in.from; i < in.to; i = found->to) {
        *found = domain_from(p, i, in.to);
        if (free_in(p, *found) >= need)
            return true;
    }
    return false;
}

// ---- placing ----------------------------------------------------------------

static int no_room(const struct placing *p, const uint32_t at[GRID_AXES],
                   struct err *err)
{
    enum { SHOWN = 6 };
    uint32_t first = grid_rank(p->g, at), tp = p->g->size[GRID_TP];
    BUF_AUTO text = BUF_INIT;
    for (uint32_t i = p->all.from; i < p->all.to && i < p->all.from + SHOWN; i++)
        buf_printf(&text, "%s%s: %u", i > p->all.from ? ", " : "", p->rooms[i].name,
                   p->rooms[i].free);
    if (p->all.to > p->all.from + SHOWN)
        buf_printf(&text, ", ... %u more", p->all.to - p->all.from - SHOWN);
    CLEANUP_FREE char *rest = buf_steal_str(&text);
    err_set_kind(
        err, "NOT_ENOUGH_SLOTS", 0,
        "--grid: no %s has %u slots left for the tensor-parallel group of ranks "
        "%u-%u (pp %u, dp %u); left are %s; use members with more slots, or "
        "more of them, a smaller tp%s",
        p->allow_split ? "sub-group" : "member", tp, first, first + tp - 1, at[GRID_PP],
        at[GRID_DP], rest[0] != '\0' ? rest : "none",
        p->allow_split ? "" : ", or --grid-allow-split");
    return -1;
}

static void fill(struct placing *p, struct range r, uint32_t first)
{
    uint32_t left = p->g->size[GRID_TP];
    for (uint32_t i = r.from; left > 0; i++)
        for (; left > 0 && p->rooms[i].free > 0; left--, p->rooms[i].free--)
            p->member[first++] = i;
    while (p->all.from < p->all.to && p->rooms[p->all.from].free == 0)
        p->all.from++;
}

static int place_group(struct placing *p, struct range in, const uint32_t at[GRID_AXES],
                       struct err *err)
{
    uint32_t tp = p->g->size[GRID_TP];
    struct range found;
    if (!find_member(p, in, tp, &found) &&
        !(p->allow_split &&
          (find_domain(p, in, tp, &found) || find_domain(p, p->all, tp, &found))))
        return no_room(p, at, err);
    fill(p, found, grid_rank(p->g, at));
    return 0;
}

static int place_pipeline(struct placing *p, uint32_t dp, struct err *err)
{
    uint32_t need = p->g->size[GRID_TP] * p->g->size[GRID_PP];
    struct range in = p->all;
    if (!find_member(p, p->all, need, &in) && !find_domain(p, p->all, need, &in))
        in = p->all;
    for (uint32_t pp = 0; pp < p->g->size[GRID_PP]; pp++) {
        const uint32_t at[GRID_AXES] = {[GRID_PP] = pp, [GRID_DP] = dp};
        if (place_group(p, in, at, err) < 0)
            return -1;
    }
    return 0;
}

int grid_place(const struct grid *g, bool allow_split, struct grid_room *rooms,
               uint32_t n, uint32_t *member, struct err *err)
{
    struct placing p = {.g = g,
                        .allow_split = allow_split,
                        .rooms = rooms,
                        .all = {0, n},
                        .member = member};
    for (uint32_t dp = 0; dp < g->size[GRID_DP]; dp++)
        if (place_pipeline(&p, dp, err) < 0)
            return -1;
    return 0;
}

int grid_domains(uint32_t n, uint32_t size, bool leader_apart, uint32_t *domain,
                 struct err *err)
{
    bool one_more = leader_apart || n % size != 0;
    if (size > n || (one_more && (n - 1) % size != 0)) {
        err_set(err,
                "%u members in sub-groups of %u%s: their number, or that without the "
                "leader, has to be a multiple; change --grid-subgroup (or "
                "LWS_SUBGROUP_SIZE) or "
                "the number of members",
                n, size, leader_apart ? " beside the leader" : "");
        return -1;
    }
    for (uint32_t i = 0; i < n; i++)
        domain[i] = !one_more      ? i / size
                    : leader_apart ? (i + size - 1) / size
                    : i == 0       ? 0
                                   : (i - 1) / size;
    return 0;
}
