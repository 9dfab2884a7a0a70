// Who runs where: maps for libpmix, and setups that make no sense.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "agent/pmix_map.h"

enum { POSITIONS = 3, RANKS = 4 };

struct fixture {
    Muster__PmixSetup setup;
    Muster__Position pos[POSITIONS], *list[POSITIONS];
    uint32_t ranks[POSITIONS][RANKS];
    char nspace[PMIXD_NSPACE_MAX + 2], node[POSITIONS][PMIXD_NODE_MAX + 2];
};

// Three nodes: a-0 with ranks 0 and 1, a-1 with 2, a-2 with 3 and 4; we are a-2.
static void init(struct fixture *f)
{
    static const size_t counts[POSITIONS] = {2, 1, 2};
    uint32_t rank = 0;
    muster__pmix_setup__init(&f->setup);
    snprintf(f->nspace, sizeof f->nspace, "job.1");
    for (size_t i = 0; i < POSITIONS; i++) {
        snprintf(f->node[i], sizeof f->node[i], "a-%zu", i);
        muster__position__init(&f->pos[i]);
        f->pos[i].node = f->node[i];
        f->pos[i].n_ranks = counts[i];
        f->pos[i].ranks = f->ranks[i];
        for (size_t k = 0; k < counts[i]; k++)
            f->ranks[i][k] = rank++;
        f->list[i] = &f->pos[i];
    }
    f->setup.nspace = f->nspace;
    f->setup.n_positions = POSITIONS;
    f->setup.positions = f->list;
    f->setup.self = 2;
}

static void assert_refused(struct fixture *f, const char *text)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_null(pmixd_map_create(&f->setup, &err));
    cr_assert_not_null(strstr(err_text(&err), text), "%s", err_text(&err));
}

Test(pmix_map, tells_nodes_ranks_and_peers, .timeout = 10)
{
    ERR_AUTO err = ERR_INIT;
    struct fixture f;
    init(&f);
    struct pmixd_map *map = pmixd_map_create(&f.setup, &err);
    cr_assert_not_null(map, "%s", err_text(&err));
    cr_assert_eq(map->size, 5);
    cr_assert_str_eq(map->nodes, "a-0,a-1,a-2");
    cr_assert_str_eq(map->ranks, "0,1;2;3,4");
    cr_assert_str_eq(map->peers, "3,4");
    static const uint32_t want[][2] = {{0, 0}, {0, 1}, {1, 0}, {2, 0}, {2, 1}};
    for (size_t r = 0; r < 5; r++) {
        cr_assert_eq(map->place[r].node, want[r][0]);
        cr_assert_eq(map->place[r].local_rank, want[r][1]);
    }
    pmixd_map_destroy(map);
}

Test(pmix_map, ranks_may_be_dealt_round_robin, .timeout = 10)
{
    struct fixture f;
    init(&f);
    memcpy(f.ranks[0], (uint32_t[]){0, 3}, 2 * sizeof(uint32_t));
    memcpy(f.ranks[1], (uint32_t[]){1}, sizeof(uint32_t));
    memcpy(f.ranks[2], (uint32_t[]){2, 4}, 2 * sizeof(uint32_t));
    struct pmixd_map *map = pmixd_map_create(&f.setup, NULL);
    cr_assert_not_null(map);
    cr_assert_str_eq(map->ranks, "0,3;1;2,4");
    cr_assert_eq(map->place[4].local_rank, 1);
    pmixd_map_destroy(map);
}

Test(pmix_map, refuses_ranks_that_are_not_a_world, .timeout = 10)
{
    struct fixture f;
    init(&f);
    f.ranks[2][1] = 5;
    assert_refused(&f, "position 2: rank 5 is beyond the world (5 ranks in all)");
    f.ranks[2][1] = UINT32_MAX;
    assert_refused(&f, "beyond the world");
    f.ranks[2][1] = 3;
    assert_refused(&f, "rank 3 is placed twice");
    f.ranks[2][0] = 4;
    assert_refused(&f, "position 2: ranks are not ascending");
    f.pos[2].n_ranks = 0;
    assert_refused(&f, "position 2 (node a-2) has no ranks");
}

Test(pmix_map, refuses_node_names_that_would_break_the_map, .timeout = 10)
{
    static const char *const bad[] = {"", "a,b", "a;b", "a[1]", "a b", "a:b"};
    struct fixture f;
    init(&f);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(f.node[1], sizeof f.node[1], "%s", bad[i]);
        assert_refused(&f, "position 1: node name \"");
    }
    snprintf(f.node[1], sizeof f.node[1], "a-2");
    assert_refused(&f, "two positions have the node name \"a-2\"");
}

Test(pmix_map, lengths_have_bounds, .timeout = 10)
{
    struct fixture f;
    init(&f);
    memset(f.node[0], 'n', PMIXD_NODE_MAX);
    memset(f.nspace, 's', PMIXD_NSPACE_MAX);
    f.node[0][PMIXD_NODE_MAX] = f.nspace[PMIXD_NSPACE_MAX] = '\0';
    struct pmixd_map *map = pmixd_map_create(&f.setup, NULL);
    cr_assert_not_null(map, "the longest are allowed");
    pmixd_map_destroy(map);
    strcat(f.node[0], "n");
    assert_refused(&f, "must be 1 to 63 bytes");
    f.node[0][1] = '\0';
    strcat(f.nspace, "s");
    assert_refused(&f, "namespace has 256 bytes");
    f.nspace[0] = '\0';
    assert_refused(&f, "namespace has 0 bytes");
}

Test(pmix_map, own_position_must_be_one_of_them, .timeout = 10)
{
    struct fixture f;
    init(&f);
    f.setup.self = POSITIONS;
    assert_refused(&f, "own position 3 is not one of the 3 positions");
    f.setup.n_positions = 0;
    f.setup.self = 0;
    assert_refused(&f, "own position 0 is not one of the 0 positions");
}

Test(pmix_map, a_node_without_ranks_knows_the_others, .timeout = 10)
{
    struct fixture f;
    init(&f);
    f.setup.self = PMIXD_NO_POSITION;
    struct pmixd_map *map = pmixd_map_create(&f.setup, NULL);
    cr_assert_not_null(map);
    cr_assert_str_eq(map->ranks, "0,1;2;3,4");
    cr_assert_null(map->peers);
    pmixd_map_destroy(map);
}

Test(pmix_map, programs_have_the_ranks_in_order, .timeout = 10)
{
    struct fixture f;
    uint32_t ranks[] = {3, 0, 2};
    init(&f);
    f.setup.app_ranks = ranks;
    f.setup.n_app_ranks = 3;
    struct pmixd_map *map = pmixd_map_create(&f.setup, NULL);
    cr_assert_not_null(map);
    for (size_t r = 0; r < 5; r++)
        cr_assert_eq(map->place[r].app, r < 3 ? 0 : 2);
    pmixd_map_destroy(map);
    ranks[1] = 1;
    assert_refused(&f, "the programs have 6 ranks, the positions 5");
}
