// Block mapping of ranks to members.
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
                 "fewer ranks (-n), give members more slots, or say --oversubscribe",
                 (unsigned long long)want, (unsigned long long)have, slots);
    return -1;
}

static void add(struct map *map, uint32_t member, uint32_t count)
{
    if (count == 0)
        return;
    map->positions[map->npositions++] =
        (struct map_position){.member = member, .first = map->ranks, .count = count};
    map->ranks += count;
}

static int map_ppn(const struct map_member *m, uint32_t n, const struct map_request *rq,
                   uint32_t want, struct map *map, struct err *err)
{
    for (uint32_t i = 0; i < n && map->ranks < want; i++) {
        uint32_t count = want - map->ranks < rq->ppn ? want - map->ranks : rq->ppn;
        if (count > m[i].slots && !rq->oversubscribe) {
            err_set_kind(
                err, "NOT_ENOUGH_SLOTS", 0,
                "not enough slots on %s: --ppn wants %u ranks there, it has %u "
                "slots; lower --ppn, give it more slots, or say --oversubscribe",
                m[i].name, count, m[i].slots);
            return -1;
        }
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

int map_block(const struct map_member *members, uint32_t n,
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
    if (rq->ppn == 0)
        map_slots(members, n, (uint32_t)want, have, map);
    else
        rc = map_ppn(members, n, rq, (uint32_t)want, map, err);
    if (rc == 0)
        rc = check_nodes(members, map, err);
    if (rc < 0)
        map_free(map);
    return rc;
}

void map_free(struct map *map)
{
    free(map->positions);
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
