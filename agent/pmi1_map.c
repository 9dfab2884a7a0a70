// Runs of ranks, then runs of nodes.
#include "agent/pmi1_map.h"

#include <stdlib.h>

#include "common/buf.h"
#include "common/mem.h"

struct block {
    uint32_t node, nodes, each;
};

static uint32_t *nodes_of_ranks(Muster__Position *const *positions, size_t n,
                                size_t *ranks)
{
    *ranks = 0;
    for (size_t i = 0; i < n; i++)
        *ranks += positions[i]->n_ranks;
    uint32_t *node = xcalloc(*ranks, sizeof *node);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < positions[i]->n_ranks; k++)
            if (positions[i]->ranks[k] < *ranks)
                node[positions[i]->ranks[k]] = (uint32_t)i;
    return node;
}

static void flush(struct buf *out, const struct block *b)
{
    if (b->each > 0)
        buf_printf(out, ",(%u,%u,%u)", b->node, b->nodes, b->each);
}

char *pmi1_map_text(Muster__Position *const *positions, size_t n, size_t max)
{
    BUF_AUTO out = BUF_INIT;
    struct block b = {0};
    size_t ranks, run;
    CLEANUP_FREE uint32_t *node = nodes_of_ranks(positions, n, &ranks);
    buf_append_str(&out, "(vector");
    for (size_t r = 0; r < ranks; r += run) {
        for (run = 1; r + run < ranks && node[r + run] == node[r]; run++)
            ;
        if (b.each == run && node[r] == b.node + b.nodes) {
            b.nodes++;
            continue;
        }
        flush(&out, &b);
        b = (struct block){node[r], 1, (uint32_t)run};
    }
    flush(&out, &b);
    buf_append_str(&out, ")");
    return buf_len(&out) <= max ? buf_steal_str(&out) : NULL;
}
