// Tree routing against a naive model: a tree built by handing out children in turn.
#include <criterion/criterion.h>

#include "wire/tree.h"

enum { VERTICES_MAX = 40 };

struct model {
    struct tree tree;
    uint32_t parent[VERTICES_MAX];
    uint32_t children[VERTICES_MAX];
};

// Vertices arrive one by one; each becomes a child of the first that still has room.
static struct model model_make(uint32_t vertices, uint32_t fanout)
{
    struct model m = {.tree = {vertices, fanout}};
    uint32_t host = 0;
    for (uint32_t v = 1; v < vertices; v++) {
        if (m.children[host] == fanout)
            host++;
        m.parent[v] = host;
        m.children[host]++;
    }
    return m;
}

static int model_contains(const struct model *m, uint32_t top, uint32_t v)
{
    while (v != top && v != 0)
        v = m->parent[v];
    return v == top;
}

static uint32_t model_next_hop(const struct model *m, uint32_t self, uint32_t dst)
{
    if (self == dst)
        return self;
    for (uint32_t v = 0; v < m->tree.vertices; v++)
        if (v != 0 && m->parent[v] == self && model_contains(m, v, dst))
            return v;
    return m->parent[self];
}

static void check_vertex(const struct model *m, uint32_t v)
{
    const struct tree *t = &m->tree;
    uint32_t first = 0, depth = 0;
    cr_assert_eq(tree_parent(t, v), m->parent[v]);
    cr_assert_eq(tree_children(t, v, &first), m->children[v]);
    for (uint32_t i = 0; i < m->children[v]; i++)
        cr_assert_eq(m->parent[first + i], v);
    for (uint32_t u = v; u != 0; u = m->parent[u])
        depth++;
    cr_assert_eq(tree_depth(t, v), depth);
    for (uint32_t u = 0; u < t->vertices; u++) {
        cr_assert_eq(tree_contains(t, v, u), model_contains(m, v, u), "%u in %u", u, v);
        cr_assert_eq(tree_next_hop(t, v, u), model_next_hop(m, v, u), "%u to %u", v, u);
    }
}

Test(tree, agrees_with_the_naive_model_everywhere, .timeout = 60)
{
    static const uint32_t fanouts[] = {1, 2, 3, 4, 5, 6, 64};
    for (size_t f = 0; f < sizeof fanouts / sizeof *fanouts; f++)
        for (uint32_t n = 1; n <= VERTICES_MAX; n++) {
            struct model m = model_make(n, fanouts[f]);
            for (uint32_t v = 0; v < n; v++)
                check_vertex(&m, v);
        }
}

Test(tree, walking_hop_by_hop_arrives)
{
    struct tree t = {4000, 7};
    for (uint32_t dst = 0; dst < t.vertices; dst += 13) {
        uint32_t hops = 0, at = 3999;
        for (; at != dst; at = tree_next_hop(&t, at, dst))
            cr_assert_lt(hops++, 20u);
    }
}

Test(tree, does_not_overflow_at_the_top_of_its_range)
{
    struct tree t = {0xfffffff0u, 0xffffffffu};
    uint32_t first;
    cr_assert_eq(tree_children(&t, 0, &first), 0xffffffefu);
    cr_assert_eq(tree_children(&t, 0xffffff00u, &first), 0);
    cr_assert_eq(first, t.vertices);
}

Test(tree, a_vertex_outside_is_in_no_subtree)
{
    struct tree t = {5, 2};
    cr_assert_eq(tree_contains(&t, 0, 5), 0);
    cr_assert_eq(tree_contains(&t, 0, TREE_ALL), 0);
}
