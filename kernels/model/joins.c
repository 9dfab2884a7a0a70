// A binary heap: the best is at 0, below i are 2 i + 1 and 2 i + 2.
#include "kernels/model/joins.h"

#include <stdlib.h>

#include "common/mem.h"

static bool is_before(const struct join *a, const struct join *b)
{
    return a->score != b->score ? a->score > b->score : a->at < b->at;
}

void joins_put(struct joins *h, struct join j)
{
    if (h->n == h->cap) {
        h->cap = h->cap > 0 ? 2 * h->cap : 64;
        h->v = xrealloc(h->v, h->cap, sizeof *h->v);
    }
    size_t i = h->n++;
    for (; i > 0 && is_before(&j, &h->v[(i - 1) / 2]); i = (i - 1) / 2)
        h->v[i] = h->v[(i - 1) / 2];
    h->v[i] = j;
}

bool joins_take(struct joins *h, struct join *out)
{
    if (h->n == 0)
        return false;
    *out = h->v[0];
    const struct join last = h->v[--h->n];
    size_t i = 0;
    for (size_t low; (low = 2 * i + 1) < h->n; i = low) {
        if (low + 1 < h->n && is_before(&h->v[low + 1], &h->v[low]))
            low++;
        if (!is_before(&h->v[low], &last))
            break;
        h->v[i] = h->v[low];
    }
    h->v[i] = last;
    return true;
}

void joins_free(struct joins *h)
{
    free(h->v);
    *h = (struct joins){0};
}
