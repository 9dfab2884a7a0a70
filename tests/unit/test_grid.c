// Grids of ranks: numbers, places, sub-groups.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "launcher/map.h"

enum { MEMBERS_MAX = 16, RANKS_MAX = 64 };

static struct grid grid_of(const char *text)
{
    ERR_AUTO err = ERR_INIT;
    struct grid g;
    cr_assert_eq(grid_parse(text, &g, &err), 0, "%s", err_text(&err));
    return g;
}

// Rank of tp, pp, dp.
static uint32_t rank_of(const struct grid *g, uint32_t tp, uint32_t pp, uint32_t dp)
{
    return grid_rank(g, (const uint32_t[]){tp, pp, dp});
}

Test(grid, the_first_axis_varies_fastest)
{
    struct grid g = grid_of("tp=8,pp=4,dp=2");
    cr_assert_eq(grid_ranks(&g), 64);
    cr_assert_eq(rank_of(&g, 3, 0, 0), 3);
    cr_assert_eq(rank_of(&g, 0, 1, 0), 8);
    cr_assert_eq(rank_of(&g, 0, 0, 1), 32);
    g = grid_of("tp=8,dp=2,pp=4"); // as Megatron numbers them
    cr_assert_eq(rank_of(&g, 0, 0, 1), 8);
    cr_assert_eq(rank_of(&g, 0, 1, 0), 16);
    cr_assert_eq(rank_of(&g, 7, 3, 1), 63);
}

Test(grid, axes_that_are_left_out_have_one_place)
{
    struct grid g = grid_of("dp=3");
    cr_assert_eq(grid_ranks(&g), 3);
    cr_assert_eq(g.order[0], GRID_TP);
    cr_assert_eq(g.order[1], GRID_DP);
    cr_assert_eq(g.order[2], GRID_PP);
    g = grid_of("tp=4");
    cr_assert_eq(grid_ranks(&g), 4);
    cr_assert_eq(g.order[2], GRID_DP);
}

static const struct {
    char text[32], says[64];
} bad_texts[] = {
    {"", "column 1: '' is no axis"},
    {"tp=8,", "column 6: '' is no axis"},
    {"tp=8,ep=2", "column 6: 'ep=2' is no axis"},
    {"tp", "column 1: 'tp' is no axis"},
    {"TP=8", "column 1: 'TP=8' is no axis"},
    {"tp=8,pp=2,pp=2", "column 11: 'pp=2' comes twice"},
    {"pp=2,tp=8", "column 6: 'tp=8' has to come first"},
    {"tp=0", "column 1: 'tp=0' has no size"},
    {"tp=-1", "column 1: 'tp=-1' has no size"},
    {"tp=8x", "column 1: 'tp=8x' has no size"},
    {"tp=8 ,pp=1", "column 1: 'tp=8 ' has no size"},
    {"tp=99999999999999999999", "has no size"},
    {"tp=1048576,pp=1048576,dp=1048576", "1048576 x 1048576 x 1048576 ranks: at most"},
};

Test(grid, bad_texts_name_the_column_and_the_word)
{
    for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
        ERR_AUTO err = ERR_INIT;
        struct grid g;
        cr_assert_eq(grid_parse(bad_texts[i].text, &g, &err), -1, "%s",
                     bad_texts[i].text);
        cr_assert_not_null(strstr(err.text, bad_texts[i].says), "%s", err.text);
    }
}

// ---- places -------------------------------------------------------------------

// slots: a digit for each member; domains: the same, "" for one; places: the member of each
// rank as a letter, "" where there is no room for the ranks that `says` names.
static const struct {
    char what[64], grid[24], slots[12], domains[12];
    bool split;
    char places[RANKS_MAX + 1], says[48];
} layouts[] = {
    {"groups fill members in order", "tp=2,pp=2", "22", "", false, "aabb", ""},
    {"a pipeline stays on a member that holds it", "tp=1,pp=3,dp=2", "44", "", false,
     "aaabbb", ""},
    {"the rest of a member takes what fits", "tp=1,pp=2,dp=3", "51", "", false,
     "aaaaab", ""},
    {"a group never leaves a member", "tp=4,dp=2", "644", "", false, "aaaabbbb", ""},
    {"slots that hold no group stay empty", "tp=3,dp=2", "54", "", false, "aaabbb", ""},
    {"members that are too small are passed over", "tp=4,dp=2", "2424", "", false,
     "bbbbdddd", ""},
    {"no room for a group", "tp=4,dp=3", "4433", "", false, "",
     "ranks 8-11 (pp 0, dp 2)"},
    {"no room in the numbering of the user", "tp=2,dp=2,pp=2", "22211", "", false, "",
     "ranks 6-7 (pp 1, dp 1)"},
    {"split where that is allowed", "tp=4,dp=2", "62", "", true, "aaaaaabb", ""},
    {"split only where no member has room", "tp=4,dp=2", "26", "", true, "bbbbaabb",
     ""},
    {"pipeline neighbours are near in any numbering", "tp=1,dp=2,pp=2", "22", "", false,
     "abab", ""},
    {"a pipeline stays in its sub-group", "tp=2,pp=2,dp=2", "222222", "001122", false,
     "aabbccdd", ""},
    {"a pipeline passes over a sub-group that is too small", "tp=1,pp=3,dp=2", "11222",
     "00111", false, "ccddee", ""},
    {"a pipeline that fits nowhere whole goes on", "tp=2,pp=4", "2222", "0011", false,
     "aabbccdd", ""},
    {"a split group stays in its sub-group", "tp=4,dp=2", "222222", "000111", true,
     "aabbddee", ""},
    {"no sub-group holds a split group", "tp=4,dp=2", "111111111", "000111122", true,
     "", "no sub-group has 4 slots"},
};

static void make_members(size_t i, struct map_member *m, char (*names)[2], uint32_t *n)
{
    *n = (uint32_t)strlen(layouts[i].slots);
    for (uint32_t k = 0; k < *n; k++) {
        names[k][0] = (char)('a' + k);
        m[k] =
            (struct map_member){.name = names[k],
                                .slots = (uint32_t)(layouts[i].slots[k] - '0'),
                                .domain = layouts[i].domains[0] != '\0'
                                              ? (uint32_t)(layouts[i].domains[k] - '0')
                                              : 0};
    }
}

static void letters_of(const struct map *map, char *out)
{
    memset(out, 0, RANKS_MAX + 1);
    for (uint32_t i = 0; i < map->npositions; i++)
        for (uint32_t k = 0; k < map->positions[i].count; k++)
            out[map->positions[i].ranks[k]] = (char)('a' + map->positions[i].member);
}

Test(grid, layouts)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        ERR_AUTO err = ERR_INIT;
        struct map_member m[MEMBERS_MAX];
        char names[MEMBERS_MAX][2] = {{0}}, got[RANKS_MAX + 1];
        struct map map;
        uint32_t n;
        struct map_request rq = {.has_grid = true,
                                 .grid = grid_of(layouts[i].grid),
                                 .grid_split = layouts[i].split};
        rq.ranks = grid_ranks(&rq.grid);
        make_members(i, m, names, &n);
        int rc = map_ranks(m, n, &rq, &map, &err);
        cr_assert_eq(rc, layouts[i].places[0] != '\0' ? 0 : -1, "%s: %s",
                     layouts[i].what, err_text(&err));
        if (rc < 0) {
            cr_assert_not_null(strstr(err.text, layouts[i].says), "%s", err.text);
            continue;
        }
        letters_of(&map, got);
        cr_assert_str_eq(got, layouts[i].places, "%s: %s", layouts[i].what, got);
        cr_assert_eq(map.positions[0].ranks[0], 0, "%s", layouts[i].what);
        map_free(&map);
    }
}

Test(grid, the_position_of_rank_0_is_the_first)
{
    static const struct map_member m[] = {{"a", 2, 0}, {"b", 6, 0}};
    struct map_request rq = {.has_grid = true, .grid = grid_of("tp=1,pp=3,dp=2")};
    struct map map;
    rq.ranks = 6;
    cr_assert_eq(map_ranks(m, 2, &rq, &map, NULL), 0);
    cr_assert_eq(map.npositions, 1);
    map_free(&map);
    rq.grid = grid_of("tp=1,pp=4,dp=2");
    rq.ranks = 8;
    cr_assert_eq(map_ranks(m, 2, &rq, &map, NULL), 0);
    cr_assert_eq(map.npositions, 2);
    cr_assert_eq(map.positions[0].member, 1);
    cr_assert_eq(map.positions[0].count, 6);
    cr_assert_eq(map.positions[1].member, 0);
    cr_assert_eq(map.positions[1].ranks[1], 5);
    map_free(&map);
}

Test(grid, ppn_and_oversubscribe_count)
{
    static const struct map_member m[] = {{"a", 4, 0}, {"b", 4, 0}};
    struct map_request rq = {.has_grid = true, .grid = grid_of("tp=2,dp=2"), .ppn = 2};
    ERR_AUTO err = ERR_INIT;
    struct map map;
    char got[RANKS_MAX + 1];
    rq.ranks = 4;
    cr_assert_eq(map_ranks(m, 2, &rq, &map, NULL), 0);
    letters_of(&map, got);
    cr_assert_str_eq(got, "aabb");
    map_free(&map);
    rq = (struct map_request){.has_grid = true, .grid = grid_of("tp=8,dp=2")};
    rq.ranks = 16;
    cr_assert_eq(map_ranks(m, 2, &rq, &map, &err), -1);
    rq.oversubscribe = true;
    cr_assert_eq(map_ranks(m, 2, &rq, &map, NULL), 0);
    letters_of(&map, got);
    cr_assert_str_eq(got, "aaaaaaaabbbbbbbb");
    map_free(&map);
}

Test(grid, an_error_says_what_is_there_and_what_to_do)
{
    static const struct map_member m[] = {{"node-a", 4, 0}, {"node-b", 4, 0}};
    struct map_request rq = {.has_grid = true, .grid = grid_of("tp=8")};
    ERR_AUTO err = ERR_INIT;
    struct map map;
    rq.ranks = 8;
    cr_assert_eq(map_ranks(m, 2, &rq, &map, &err), -1);
    cr_assert_str_eq(
        err.text, "--grid: no member has 8 slots left for the tensor-parallel group of "
                  "ranks 0-7 (pp 0, dp 0); left are node-a: 4, node-b: 4; use members "
                  "with more slots, or more of them, a smaller tp, or "
                  "--grid-allow-split");
}

// ---- sub-groups ---------------------------------------------------------------

static const struct {
    uint32_t n, size;
    bool apart;
    char domains[12]; // "": an error
} subgroups[] = {
    {4, 2, false, "0011"}, {5, 2, false, "00011"}, {4, 4, false, "0000"},
    {1, 1, false, "0"},    {5, 2, true, "01122"},  {9, 4, true, "011112222"},
    {6, 4, false, ""},     {4, 2, true, ""},       {4, 8, false, ""},
};

Test(grid, subgroups_are_those_of_leaderworkerset)
{
    for (size_t i = 0; i < sizeof subgroups / sizeof *subgroups; i++) {
        uint32_t domain[12];
        char got[13] = "";
        int rc = grid_domains(subgroups[i].n, subgroups[i].size, subgroups[i].apart,
                              domain, NULL);
        for (uint32_t k = 0; rc == 0 && k < subgroups[i].n; k++)
            got[k] = (char)('0' + domain[k]);
        cr_assert_str_eq(got, subgroups[i].domains);
    }
}
