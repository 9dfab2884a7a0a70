// Who takes the place of a lost inner vertex: by hand, and for all losses of a small tree.
#include <criterion/criterion.h>
#include <string.h>

#include "launcher/exchange.h"

enum { MANY = 16 };

// Vertices 1..7 of fan-out 2: 1 has 3 and 4, 2 has 5 and 6, 3 has 7. One letter a vertex: t is
// there, l lost, h hidden; capitals are spares, and a dot before it stays.
static bool find(const char *text, uint32_t fanout, uint32_t *lost, uint32_t *leaf)
{
    struct exchange_place v[MANY] = {0};
    uint32_t n = 0;
    for (const char *p = text; *p != '\0'; p++) {
        v[n].stays = *p == '.';
        p += v[n].stays ? 1 : 0;
        v[n].spare = *p == 'T' || *p == 'L' || *p == 'H';
        v[n++].state = *p == 't' || *p == 'T'   ? EXCHANGE_THERE
                       : *p == 'h' || *p == 'H' ? EXCHANGE_HIDDEN
                                                : EXCHANGE_LOST;
    }
    struct tree t = {.vertices = n + 1, .fanout = fanout};
    return exchange_find(&t, v, lost, leaf);
}

static void expect(const char *text, uint32_t lost, uint32_t leaf)
{
    uint32_t l, f;
    cr_assert(find(text, 2, &l, &f), "%s", text);
    cr_assert_eq(l, lost, "%s: %u", text, l);
    cr_assert_eq(f, leaf, "%s: %u", text, f);
}

static void expect_none(const char *text, uint32_t fanout)
{
    uint32_t l, f;
    cr_assert_not(find(text, fanout, &l, &f), "%s: %u, %u", text, l, f);
}

Test(exchange, nothing_is_to_do)
{
    expect_none("tttttT", 2);
    expect_none("ttttlT", 2);   // a leaf
    expect_none("ttlT", 64);    // all are leaves
    expect_none("ttlttT", 2);   // 3 has no child any more
    expect_none("hthhttT", 2);  // 1 is being dialed
    expect_none(".lthhttT", 2); // it must not move
}

Test(exchange, a_spare_at_a_leaf_goes_first)
{
    expect("tlTthhTt", 2, 7);
    expect("lthhtTh", 1, 6);
    expect("lthht.Th", 1, 5);
    expect("lThhtth", 1, 5); // a spare with others below it stays
}

// --spares 1 of 7: the spare is below 3.
Test(exchange, without_a_spare_that_is_there_any_leaf_that_is_there_goes)
{
    expect("ttlt.ttH", 3, 4);
    expect("lthhtth", 1, 5);
}

Test(exchange, a_hidden_leaf_goes_where_none_is_there)
{
    expect("llhhhhH", 1, 7);
    expect("llhhhhh", 1, 4);
    expect("llhlllh", 1, 7);
    expect_none("lltllll", 2); // nobody is left
}

Test(exchange, the_topmost_lost_vertex_comes_first)
{
    expect("ttlttTh", 3, 6);
    expect("ltlhttH", 1, 5); // 3 is not reached before 1 is there
    expect("llhhhhH", 1, 7);
}

// Who is below a vertex that is not there is not heard of. Returns how many of them are well.
static uint32_t hide(const struct tree *t, struct exchange_place *v, const bool *dead,
                     const uint32_t *member)
{
    uint32_t well = 0;
    for (uint32_t i = 1; i < t->vertices; i++) {
        uint32_t up = tree_parent(t, i);
        if (up == 0 || v[up - 1].state == EXCHANGE_THERE)
            continue;
        v[i - 1].state = EXCHANGE_HIDDEN;
        well += dead[member[i - 1]] ? 0 : 1;
    }
    return well;
}

// Who is dialed at a vertex that is reached is there, unless it is dead: what becomes of a tree.
static void settle(const struct tree *t, struct exchange_place *v, const bool *dead,
                   const uint32_t *member)
{
    for (uint32_t i = 1; i < t->vertices; i++) {
        uint32_t up = tree_parent(t, i);
        if (up == 0 || v[up - 1].state == EXCHANGE_THERE)
            v[i - 1].state = dead[member[i - 1]] ? EXCHANGE_LOST : EXCHANGE_THERE;
    }
}

static void swap(struct exchange_place *v, uint32_t *member, uint32_t lost,
                 uint32_t leaf)
{
    struct exchange_place place = v[leaf - 1];
    uint32_t m = member[leaf - 1];
    v[leaf - 1] = v[lost - 1];
    member[leaf - 1] = member[lost - 1];
    v[lost - 1] = place;
    v[lost - 1].state = EXCHANGE_HIDDEN;
    member[lost - 1] = m;
}

// Returns how many of those that are well are still hidden.
static uint32_t go_on(const struct tree *t, struct exchange_place *v, uint32_t *member,
                      const bool *dead)
{
    uint32_t lost, leaf, rounds = 0;
    hide(t, v, dead, member);
    for (bool found = true; found; rounds++) {
        cr_assert_lt(rounds, 4 * MANY, "it goes on for ever");
        while ((found = exchange_find(t, v, &lost, &leaf))) {
            swap(v, member, lost, leaf);
            settle(t, v, dead, member);
        }
    }
    return hide(t, v, dead, member);
}

static uint32_t from_the_beginning(const struct tree *t, const bool *dead)
{
    struct exchange_place v[MANY] = {0};
    uint32_t member[MANY];
    for (uint32_t i = 0; i + 1 < t->vertices; i++) {
        member[i] = i;
        v[i].state = dead[i] ? EXCHANGE_LOST : EXCHANGE_THERE;
    }
    return go_on(t, v, member, dead);
}

// Nobody can be reached at first, and each has had its turn; then all can that are well.
static uint32_t after_a_vain_round(const struct tree *t, const bool *dead)
{
    static const bool all[MANY] = {true, true, true, true, true, true, true, true,
                                   true, true, true, true, true, true, true, true};
    struct exchange_place v[MANY] = {0};
    uint32_t member[MANY], lost, leaf;
    for (uint32_t i = 0; i + 1 < t->vertices; i++) {
        member[i] = i;
        v[i].state = EXCHANGE_HIDDEN;
    }
    settle(t, v, all, member);
    while (exchange_find(t, v, &lost, &leaf)) {
        swap(v, member, lost, leaf);
        v[lost - 1].state = EXCHANGE_LOST;
    }
    for (uint32_t i = 1; i < t->vertices; i++)
        if (exchange_is_cut_off(t, v, i))
            v[i - 1].state = EXCHANGE_HIDDEN;
    settle(t, v, dead, member);
    return go_on(t, v, member, dead);
}

// Which members of 12 are lost at once: all 4,096 ways, in trees of fan-out 2 and 3.
Test(exchange, whoever_is_well_is_reached_if_they_are_enough_for_the_inner_vertices)
{
    for (uint32_t fanout = 2; fanout <= 3; fanout++)
        for (uint32_t lost = 0; lost < 1u << 12; lost++) {
            struct tree t = {.vertices = 13, .fanout = fanout};
            uint32_t first, inner = 0, well = 0;
            bool dead[12];
            for (uint32_t i = 0; i < 12; i++) {
                dead[i] = (lost >> i & 1) != 0;
                well += dead[i] ? 0 : 1;
                inner += tree_children(&t, i + 1, &first) > 0 ? 1 : 0;
            }
            uint32_t hidden = from_the_beginning(&t, dead);
            cr_assert(hidden == 0 || well < inner, "%u: %03x: %u", fanout, lost,
                      hidden);
            hidden = after_a_vain_round(&t, dead);
            cr_assert(hidden == 0 || well < inner, "%u: %03x: %u", fanout, lost,
                      hidden);
        }
}

Test(exchange, who_is_cut_off_is_out_of_reach_where_it_is_now)
{
    static const struct {
        uint32_t vertex;
        bool cut_off;
    } all[] = {{1, false}, {2, false}, {3, true}, {4, true}, {5, false}, {7, true}};
    struct exchange_place v[7] = {{.state = EXCHANGE_LOST},  {.state = EXCHANGE_THERE},
                                  {.state = EXCHANGE_LOST},  {.state = EXCHANGE_HIDDEN},
                                  {.state = EXCHANGE_LOST},  {.state = EXCHANGE_THERE},
                                  {.state = EXCHANGE_HIDDEN}};
    struct tree t = {.vertices = 8, .fanout = 2};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cr_assert_eq(exchange_is_cut_off(&t, v, all[i].vertex), all[i].cut_off, "%u",
                     all[i].vertex);
}
