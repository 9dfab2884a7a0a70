// The first lost vertex that hides others, and the best leaf for it.
#include "launcher/exchange.h"

#include <stddef.h>

static bool is_leaf(const struct tree *t, uint32_t vertex)
{
    uint32_t first;
    return tree_children(t, vertex, &first) == 0;
}

static bool is_reached(const struct exchange_place *v, uint32_t vertex)
{
    return vertex == 0 || v[vertex - 1].state == EXCHANGE_THERE;
}

bool exchange_is_cut_off(const struct tree *t, const struct exchange_place *v,
                         uint32_t vertex)
{
    return !is_reached(v, vertex) && !is_reached(v, tree_parent(t, vertex));
}

static uint32_t find_lost(const struct tree *t, const struct exchange_place *v)
{
    for (uint32_t i = 1; i < t->vertices; i++)
        if (v[i - 1].state == EXCHANGE_LOST && !v[i - 1].stays && !is_leaf(t, i) &&
            is_reached(v, tree_parent(t, i)))
            return i;
    return 0;
}

static uint32_t find_leaf(const struct tree *t, const struct exchange_place *v,
                          enum exchange_state state, bool spare)
{
    for (uint32_t i = 1; i < t->vertices; i++)
        if (v[i - 1].state == state && v[i - 1].spare == spare && !v[i - 1].stays &&
            is_leaf(t, i))
            return i;
    return 0;
}

bool exchange_find(const struct tree *t, const struct exchange_place *v, uint32_t *lost,
                   uint32_t *leaf)
{
    static const struct {
        enum exchange_state state;
        bool spare;
    } order[] = {{EXCHANGE_THERE, true},
                 {EXCHANGE_THERE, false},
                 {EXCHANGE_HIDDEN, true},
                 {EXCHANGE_HIDDEN, false}};
    *lost = find_lost(t, v);
    *leaf = 0;
    for (size_t i = 0; *lost > 0 && *leaf == 0 && i < sizeof order / sizeof *order; i++)
        *leaf = find_leaf(t, v, order[i].state, order[i].spare);
    return *leaf > 0;
}
