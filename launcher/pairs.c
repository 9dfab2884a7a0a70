// The plan of the pairs: a ring of all nodes, cut into steps.
#include "launcher/pairs.h"

#include <stdlib.h>

#include "common/mem.h"

void pairs_add(struct pairs *p, size_t a, size_t b, unsigned step)
{
    struct pair pair = {a < b ? a : b, a < b ? b : a, step};
    p->v = xrealloc(p->v, p->n + 1, sizeof *p->v);
    p->v[p->n++] = pair;
}

// Of an odd number n the pairs whose sum is the same modulo n have no node in common, of four
// (and two) those with the same exclusive or.
static void plan_all(struct pairs *pairs, size_t n)
{
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            pairs_add(pairs, a, b, (unsigned)(n % 2 == 1 ? (a + b) % n : (a ^ b) - 1));
}

// The ring's edges from `first` on, every second one; the odd node's comes in a step of its
// own.
static void plan_ring(struct pairs *pairs, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2)
        pairs_add(pairs, i, i + 1, 0);
    for (size_t i = 1; i + 1 < n; i += 2)
        pairs_add(pairs, i, i + 1, 1);
    pairs_add(pairs, n - 1, 0, n % 2 == 0 ? 1 : 2);
}

void pairs_plan(struct pairs *pairs, size_t n)
{
    *pairs = (struct pairs){0};
    if (n <= PAIRS_ALL_MEET)
        plan_all(pairs, n);
    else
        plan_ring(pairs, n);
}

void pairs_free(struct pairs *pairs)
{
    free(pairs->v);
    *pairs = (struct pairs){0};
}
