// The complete k-ary tree in breadth-first order: routing by arithmetic alone.
#include "wire/tree.h"

uint32_t tree_parent(const struct tree *t, uint32_t v)
{
    return v == 0 ? 0 : (v - 1) / t->fanout;
}

uint32_t tree_children(const struct tree *t, uint32_t v, uint32_t *first)
{
    uint64_t start = (uint64_t)v * t->fanout + 1;
    if (start >= t->vertices) {
        *first = t->vertices;
        return 0;
    }
    *first = (uint32_t)start;
    uint32_t left = t->vertices - *first;
    return left < t->fanout ? left : t->fanout;
}

uint32_t tree_depth(const struct tree *t, uint32_t v)
{
    uint32_t depth = 0;
    for (; v != 0; v = tree_parent(t, v))
        depth++;
    return depth;
}

int tree_contains(const struct tree *t, uint32_t top, uint32_t v)
{
    if (v >= t->vertices)
        return 0;
    while (v > top)
        v = tree_parent(t, v);
    return v == top;
}

uint32_t tree_next_hop(const struct tree *t, uint32_t self, uint32_t dst)
{
    if (dst == self)
        return self;
    // Climb from dst: just below self stands the child that leads there.
    for (uint32_t v = dst; v > self; v = tree_parent(t, v))
        if (tree_parent(t, v) == self)
            return v;
    return tree_parent(t, self);
}
