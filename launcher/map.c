// How many ranks each member gets, then which.
#include "launcher/map.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"

// "train-0: 2, train-1: 2, ... (8 in all)", shortened after a handful of members.
static void describe_slots(struct buf *out, const struct map_member *m, uint32_t n)
{
    enum { SHOWN = 6 };
    for (uint32_t i = 0; i < n && i < SHOWN; i++)
        buf_printf(out, "%s%s: %u", i > 0 ? ", " : "", m[i].name, m[i].slots);
    if (n > SHOWN)
        buf_printf(out, ", ... %u more", n - SHOWN);
}

static int too_few(const struct map_member *m, uint32_t n, uint64_t have, uint64_t want,
                   struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    describe_slots(&text, m, n);
    CLEANUP_FREE char *slots = buf_steal_str(&text);
    err_set_kind(err, "NOT_ENOUGH_SLOTS", 0,
                 "not enough slots: %llu ranks wanted, %llu slots there (%s); ask for "
                 "fewer ranks (-n), give members more slots (such as %s:%llu), or say "
                 "--oversubscribe",
                 (unsigned long long)want, (unsigned long long)have, slots, m[0].name,
                 (unsigned long long)(m[0].slots + want - have));
    return -1;
}

static void add(struct map *map, uint32_t member, uint32_t count)
{
    if (count == 0)
        return;
    map->positions[map->npositions++] =
        (struct map_position){.member = member, .count = count};
    map->ranks += count;
}

static int too_few_on(const struct map_member *m, uint32_t count, struct err *err)
{
    err_set_kind(err, "NOT_ENOUGH_SLOTS", 0,
                 "not enough slots on %s: --ppn wants %u ranks there, it has %u "
                 "slots; lower --ppn, give it more slots, or say --oversubscribe",
                 m->name, count, m->slots);
    return -1;
}

static int map_ppn(const struct map_member *m, uint32_t n, const struct map_request *rq,
                   uint32_t want, struct map *map, struct err *err)
{
    for (uint32_t i = 0; i < n && map->ranks < want; i++) {
        uint32_t count = want - map->ranks < rq->ppn ? want - map->ranks : rq->ppn;
        if (count > m[i].slots && !rq->oversubscribe)
            return too_few_on(&m[i], count, err);
        add(map, i, count);
    }
    return 0;
}

// By slots; what is over (oversubscribed) goes round the members that have slots.
static void map_slots(const struct map_member *m, uint32_t n, uint32_t want,
                      uint64_t have, struct map *map)
{
    uint32_t over = want > have ? want - (uint32_t)have : 0, usable = 0, seen = 0;
    for (uint32_t i = 0; i < n; i++)
        usable += m[i].slots > 0 || have == 0 ? 1 : 0;
    for (uint32_t i = 0; i < n && map->ranks < want; i++) {
        if (m[i].slots == 0 && have > 0)
            continue;
        uint32_t count = m[i].slots + over / usable + (seen++ < over % usable ? 1 : 0);
        add(map, i, want - map->ranks < count ? want - map->ranks : count);
    }
}

// What members get when each takes at most `level` ranks, and no more than its slots.
static uint64_t sum_at(const struct map_member *m, uint32_t n, uint32_t level)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += m[i].slots < level ? m[i].slots : level;
    return sum;
}

// Evenly, until slots are used up: all members up to a level, some one more.
static void map_evenly(const struct map_member *m, uint32_t n, uint32_t want,
                       struct map *map)
{
    uint32_t low = 0, high = want;
    while (low < high) { // the highest level that does not give too much
        uint32_t level = low + (high - low + 1) / 2;
        if (sum_at(m, n, level) <= want)
            low = level;
        else
            high = level - 1;
    }
    uint32_t more = want - (uint32_t)sum_at(m, n, low);
    for (uint32_t i = 0; i < n; i++) {
        bool one_more = m[i].slots > low && more > 0;
        add(map, i, (m[i].slots < low ? m[i].slots : low) + (one_more ? 1 : 0));
        more -= one_more ? 1 : 0;
    }
}

// ---- which ranks --------------------------------------------------------------

static void number_in_blocks(struct map *map)
{
    for (uint32_t r = 0; r < map->ranks; r++)
        map->order[r] = r;
}

static void number_round(struct map *map)
{
    CLEANUP_FREE struct map_position **open = xcalloc(map->npositions, sizeof *open);
    uint32_t n = map->npositions, rank = 0;
    for (uint32_t i = 0; i < n; i++)
        open[i] = &map->positions[i];
    for (uint32_t k = 0, kept; n > 0; k++, n = kept) {
        kept = 0;
        for (uint32_t i = 0; i < n; i++) {
            open[i]->ranks[k] = rank++;
            if (k + 1 < open[i]->count)
                open[kept++] = open[i];
        }
    }
}

static void number(struct map *map, bool by_node)
{
    uint32_t at = 0;
    map->order = xcalloc(map->ranks, sizeof *map->order);
    for (uint32_t i = 0; i < map->npositions; at += map->positions[i++].count)
        map->positions[i].ranks = map->order + at;
    if (by_node)
        number_round(map);
    else
        number_in_blocks(map);
}

char *map_ranks_text(const struct map_position *p)
{
    enum { SHOWN = 3 };
    const uint32_t *r = p->ranks;
    BUF_AUTO text = BUF_INIT;
    if (p->count > 1 && r[p->count - 1] - r[0] == p->count - 1)
        return xasprintf("ranks %u-%u", r[0], r[p->count - 1]);
    buf_printf(&text, "rank%s %u", p->count > 1 ? "s" : "", r[0]);
    for (uint32_t i = 1; i < p->count && i < SHOWN; i++)
        buf_printf(&text, ", %u", r[i]);
    if (p->count > SHOWN)
        buf_printf(&text, " and %u more", p->count - SHOWN);
    return buf_steal_str(&text);
}

// ---- grids --------------------------------------------------------------------

// What each member can take. Oversubscribed: evenly, so that all groups find room.
static int make_rooms(const struct map_member *m, uint32_t n,
                      const struct map_request *rq, uint64_t have,
                      struct grid_room *rooms, struct err *err)
{
    uint32_t tp = rq->grid.size[GRID_TP], groups = rq->ranks / tp;
    uint32_t even = have < rq->ranks && n > 0 ? (groups + n - 1) / n * tp : 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slots = rq->ppn > 0 ? rq->ppn : m[i].slots;
        if (rq->ppn > m[i].slots && !rq->oversubscribe)
            return too_few_on(&m[i], rq->ppn, err);
        if (rq->oversubscribe && slots < even)
            slots = even;
        rooms[i] = (struct grid_room){m[i].name, slots, m[i].domain};
    }
    return 0;
}

// Positions of the members that got ranks, that of rank 0 first, with their ranks.
static void seat(const uint32_t *member, uint32_t n, struct map *map)
{
    CLEANUP_FREE uint32_t *count = xcalloc(n, sizeof *count);
    CLEANUP_FREE struct map_position **of = xcalloc(n, sizeof *of);
    uint32_t ranks = map->ranks, at = 0;
    for (uint32_t r = 0; r < ranks; r++)
        count[member[r]]++;
    map->ranks = 0;
    add(map, member[0], count[member[0]]);
    for (uint32_t i = 0; i < n; i++)
        add(map, i, i != member[0] ? count[i] : 0);
    map->order = xcalloc(ranks, sizeof *map->order);
    for (uint32_t i = 0; i < map->npositions; i++) {
        struct map_position *p = &map->positions[i];
        of[p->member] = p;
        p->ranks = map->order + at;
        at += p->count;
        p->count = 0;
    }
    for (uint32_t r = 0; r < ranks; r++)
        of[member[r]]->ranks[of[member[r]]->count++] = r;
}

static int map_grid(const struct map_member *m, uint32_t n,
                    const struct map_request *rq, uint64_t have, struct map *map,
                    struct err *err)
{
    CLEANUP_FREE struct grid_room *rooms = xcalloc(n, sizeof *rooms);
    CLEANUP_FREE uint32_t *member = xcalloc(rq->ranks, sizeof *member);
    if (make_rooms(m, n, rq, have, rooms, err) < 0 ||
        grid_place(&rq->grid, rq->grid_split, rooms, n, member, err) < 0)
        return -1;
    map->ranks = rq->ranks;
    seat(member, n, map);
    return 0;
}

static int check_nodes(const struct map_member *m, const struct map *map,
                       struct err *err)
{
    for (uint32_t i = 0; i < map->npositions; i++) {
        const struct map_position *p = &map->positions[i];
        if (p->count <= MAP_NODE_RANKS_MAX)
            continue;
        err_set(err, "%u ranks on %s: a member can host at most %d", p->count,
                m[p->member].name, MAP_NODE_RANKS_MAX);
        return -1;
    }
    return 0;
}

int map_ranks(const struct map_member *members, uint32_t n,
              const struct map_request *rq, struct map *map, struct err *err)
{
    uint64_t have = 0;
    for (uint32_t i = 0; i < n; i++)
        have += members[i].slots;
    uint64_t want = rq->ranks > 0 ? rq->ranks
                    : rq->ppn > 0 ? (uint64_t)rq->ppn * n
                                  : have;
    if (want == 0 || want > MAP_RANKS_MAX) {
        err_set(err, "%llu ranks: give -n between 1 and %d", (unsigned long long)want,
                MAP_RANKS_MAX);
        return -1;
    }
    if (rq->ppn > 0 && want > (uint64_t)rq->ppn * n) {
        err_set_kind(err, "NOT_ENOUGH_SLOTS", 0,
                     "-n %llu with --ppn %u needs %llu members, the group has %u",
                     (unsigned long long)want, rq->ppn,
                     (unsigned long long)((want + rq->ppn - 1) / rq->ppn), n);
        return -1;
    }
    if (rq->ppn == 0 && want > have && !rq->oversubscribe)
        return too_few(members, n, have, want, err);
    *map = (struct map){.positions = xcalloc(n, sizeof *map->positions),
                        .slots = have > UINT32_MAX ? UINT32_MAX : (uint32_t)have};
    int rc = 0;
    if (rq->has_grid)
        rc = map_grid(members, n, rq, have, map, err);
    else if (rq->ppn > 0)
        rc = map_ppn(members, n, rq, (uint32_t)want, map, err);
    else if (rq->by_node && want <= have)
        map_evenly(members, n, (uint32_t)want, map);
    else
        map_slots(members, n, (uint32_t)want, have, map);
    if (rc == 0)
        rc = check_nodes(members, map, err);
    if (rc == 0 && !rq->has_grid)
        number(map, rq->by_node);
    else if (rc < 0)
        map_free(map);
    return rc;
}

void map_free(struct map *map)
{
    free(map->positions);
    free(map->order);
    *map = (struct map){0};
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool usable_names(const char **names, uint32_t n)
{
    CLEANUP_FREE const char **sorted = xmemdup(names, n * sizeof *names);
    qsort(sorted, n, sizeof *sorted, compare);
    for (uint32_t i = 0; i < n; i++) {
        size_t len = strlen(sorted[i]);
        if (len == 0 || len > MAP_NODE_NAME_MAX ||
            (i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0))
            return false;
    }
    return true;
}

void map_node_names(const struct map_node *nodes, uint32_t n, const char **out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = nodes[i].hostname;
    if (usable_names(out, n))
        return;
    for (uint32_t i = 0; i < n; i++)
        out[i] = nodes[i].name;
    if (usable_names(out, n))
        return;
    for (uint32_t i = 0; i < n; i++)
        out[i] = nodes[i].address;
}
