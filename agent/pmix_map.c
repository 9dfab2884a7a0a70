// Node map, process map and local ranks of a job.
#include "agent/pmix_map.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"

static int check_nspace(const Muster__PmixSetup *s, struct err *err)
{
    size_t len = strlen(s->nspace);
    if (len > 0 && len <= PMIXD_NSPACE_MAX)
        return 0;
    err_set(err, "the PMIx namespace has %zu bytes, allowed are 1 to %d", len,
            PMIXD_NSPACE_MAX);
    return -1;
}

static int check_self(const Muster__PmixSetup *s, struct err *err)
{
    if (s->self < s->n_positions || s->self == PMIXD_NO_POSITION)
        return 0;
    err_set(err, "own position %" PRIu32 " is not one of the %zu positions", s->self,
            s->n_positions);
    return -1;
}

// The separators of the maps, and what libpmix's map expressions give a meaning to.
static int check_node(const Muster__Position *p, size_t i, struct err *err)
{
    size_t len = strlen(p->node);
    if (len > 0 && len <= PMIXD_NODE_MAX && strpbrk(p->node, ",;:[]() \t\n") == NULL)
        return 0;
    err_set(err,
            "position %zu: node name \"%s\": must be 1 to %d bytes without spaces and "
            "any of , ; : [ ] ( )",
            i, p->node, PMIXD_NODE_MAX);
    return -1;
}

static int by_name(const void *a, const void *b)
{
    const Muster__Position *const *x = a, *const *y = b;
    return strcmp((*x)->node, (*y)->node);
}

// Two positions on one node name would be told that they share memory.
static int check_distinct(const Muster__PmixSetup *s, struct err *err)
{
    CLEANUP_FREE Muster__Position **sorted =
        xmemdup(s->positions, s->n_positions * sizeof *s->positions);
    qsort(sorted, s->n_positions, sizeof *sorted, by_name);
    for (size_t i = 1; i < s->n_positions; i++)
        if (strcmp(sorted[i - 1]->node, sorted[i]->node) == 0) {
            err_set(err, "two positions have the node name \"%s\"", sorted[i]->node);
            return -1;
        }
    return 0;
}

static int place_rank(struct pmixd_map *map, bool *seen, uint32_t rank, uint32_t node,
                      size_t local, struct err *err)
{
    if (rank >= map->size || seen[rank] || local > UINT16_MAX) {
        err_set(err,
                "position %" PRIu32 ": rank %" PRIu32 " is %s (%" PRIu32
                " ranks in all)",
                node, rank,
                rank >= map->size ? "beyond the world"
                : seen[rank]      ? "placed twice"
                                  : "one too many on its node",
                map->size);
        return -1;
    }
    seen[rank] = true;
    map->place[rank] =
        (struct pmixd_place){.node = node, .local_rank = (uint16_t)local};
    return 0;
}

static int place_position(struct pmixd_map *map, bool *seen, const Muster__Position *p,
                          uint32_t node, struct err *err)
{
    if (p->n_ranks == 0) {
        err_set(err, "position %" PRIu32 " (node %s) has no ranks", node, p->node);
        return -1;
    }
    for (size_t i = 0; i < p->n_ranks; i++) {
        if (i > 0 && p->ranks[i] < p->ranks[i - 1]) {
            err_set(err, "position %" PRIu32 ": ranks are not ascending", node);
            return -1;
        }
        if (place_rank(map, seen, p->ranks[i], node, i, err) < 0)
            return -1;
    }
    return 0;
}

// The programs have the ranks in order. None are named: it is one.
static int place_apps(struct pmixd_map *map, const Muster__PmixSetup *s,
                      struct err *err)
{
    uint64_t rank = 0;
    for (uint32_t app = 0; app < s->n_app_ranks; app++)
        for (uint32_t i = 0; i < s->app_ranks[app]; i++, rank++)
            if (rank < map->size)
                map->place[rank].app = app;
    if (s->n_app_ranks == 0 || rank == map->size)
        return 0;
    err_set(err, "the programs have %" PRIu64 " ranks, the positions %" PRIu32, rank,
            map->size);
    return -1;
}

static int place_all(struct pmixd_map *map, const Muster__PmixSetup *s, struct err *err)
{
    size_t size = 0;
    for (size_t i = 0; i < s->n_positions; i++)
        size += s->positions[i]->n_ranks;
    if (size >= UINT32_MAX / 2) {
        err_set(err, "%zu ranks are too many", size);
        return -1;
    }
    map->size = (uint32_t)size;
    map->place = xcalloc(size, sizeof *map->place);
    CLEANUP_FREE bool *seen = xcalloc(size, sizeof *seen);
    for (uint32_t i = 0; i < s->n_positions; i++)
        if (check_node(s->positions[i], i, err) < 0 ||
            place_position(map, seen, s->positions[i], i, err) < 0)
            return -1;
    return check_distinct(s, err) < 0 ? -1 : place_apps(map, s, err);
}

static void print_ranks(struct buf *b, const Muster__Position *p)
{
    for (size_t i = 0; i < p->n_ranks; i++)
        buf_printf(b, "%s%" PRIu32, i > 0 ? "," : "", p->ranks[i]);
}

static void print_maps(struct pmixd_map *map, const Muster__PmixSetup *s)
{
    BUF_AUTO nodes = BUF_INIT, ranks = BUF_INIT, peers = BUF_INIT;
    for (size_t i = 0; i < s->n_positions; i++) {
        buf_printf(&nodes, "%s%s", i > 0 ? "," : "", s->positions[i]->node);
        buf_append_str(&ranks, i > 0 ? ";" : "");
        print_ranks(&ranks, s->positions[i]);
    }
    if (s->self != PMIXD_NO_POSITION) {
        print_ranks(&peers, s->positions[s->self]);
        map->peers = buf_steal_str(&peers);
    }
    map->nodes = buf_steal_str(&nodes);
    map->ranks = buf_steal_str(&ranks);
}

struct pmixd_map *pmixd_map_create(const Muster__PmixSetup *setup, struct err *err)
{
    if (check_nspace(setup, err) < 0 || check_self(setup, err) < 0)
        return NULL;
    struct pmixd_map *map = xcalloc(1, sizeof *map);
    if (place_all(map, setup, err) < 0) {
        pmixd_map_destroy(map);
        return NULL;
    }
    print_maps(map, setup);
    return map;
}

void pmixd_map_destroy(struct pmixd_map *map)
{
    if (map == NULL)
        return;
    free(map->place);
    free(map->nodes);
    free(map->ranks);
    free(map->peers);
    free(map);
}
