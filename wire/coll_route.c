// Contributors of collectives, from the tree and the positions.
#include "wire/coll_route.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

struct coll_route {
    struct tree tree;
    uint32_t self, first, children;
    char *nspace;
    uint32_t *vertex; // of each rank
    uint32_t ranks;
    bool *hosts; // [contributor]: hosts ranks at all
};

// Every rank of 0 .. ranks-1 stands at exactly one vertex of the tree. The numbers come
// from the network: nothing is written before they are known to be good.
static int place(struct coll_route *r, const Muster__Position *p, struct err *err)
{
    if (p->vertex == 0 || p->vertex >= r->tree.vertices) {
        err_set(err, "position of %s: vertex %u is none of the %u of the tree", p->name,
                p->vertex, r->tree.vertices);
        return -1;
    }
    for (size_t k = 0; k < p->n_ranks; k++) {
        uint32_t rank = p->ranks[k];
        if (rank >= r->ranks || r->vertex[rank] != 0) {
            err_set(err, "position of %s: rank %u is %s (%u ranks in all)", p->name,
                    rank, rank >= r->ranks ? "beyond the world" : "placed twice",
                    r->ranks);
            return -1;
        }
        r->vertex[rank] = p->vertex;
    }
    return 0;
}

static int place_all(struct coll_route *r, const Muster__Prepare *p, struct err *err)
{
    size_t ranks = 0;
    for (size_t i = 0; i < p->n_positions; i++)
        ranks += p->positions[i]->n_ranks;
    r->ranks = (uint32_t)ranks; // a frame holds less than 2^32 of them
    r->vertex = xcalloc(ranks, sizeof *r->vertex);
    for (size_t i = 0; i < p->n_positions; i++)
        if (place(r, p->positions[i], err) < 0)
            return -1;
    return 0;
}

struct coll_route *coll_route_create(const struct tree *tree, uint32_t self,
                                     const Muster__Prepare *prepare, struct err *err)
{
    struct coll_route *r = xcalloc(1, sizeof *r);
    r->tree = *tree;
    r->self = self;
    r->nspace = xstrdup(prepare->nspace);
    r->children = tree_children(tree, self, &r->first);
    if (place_all(r, prepare, err) < 0) {
        coll_route_destroy(r);
        return NULL;
    }
    r->hosts = xcalloc(r->children + 1, sizeof *r->hosts);
    for (size_t i = 0; i < prepare->n_positions; i++) {
        uint32_t v = prepare->positions[i]->vertex;
        if (tree_contains(tree, self, v))
            r->hosts[coll_route_contributor(r, v)] = true;
    }
    return r;
}

void coll_route_destroy(struct coll_route *r)
{
    if (r == NULL)
        return;
    free(r->nspace);
    free(r->vertex);
    free(r->hosts);
    free(r);
}

uint32_t coll_route_contributors(const struct coll_route *r)
{
    return r->children + 1;
}

uint32_t coll_route_vertex(const struct coll_route *r, const char *nspace,
                           uint32_t rank)
{
    return strcmp(nspace, r->nspace) == 0 && rank < r->ranks ? r->vertex[rank] : 0;
}

uint32_t coll_route_contributor(const struct coll_route *r, uint32_t vertex)
{
    uint32_t hop = tree_next_hop(&r->tree, r->self, vertex);
    return hop == r->self ? 0 : hop - r->first + 1;
}

int coll_route_expect(const struct coll_route *r, const Muster__Coll *c, bool *expected,
                      struct err *err)
{
    for (size_t i = 0; i < c->n_procs; i++) {
        const Muster__Proc *p = c->procs[i];
        if (p->rank == UINT32_MAX && strcmp(p->nspace, r->nspace) == 0) {
            for (uint32_t k = 0; k <= r->children; k++)
                expected[k] = expected[k] || r->hosts[k];
            continue;
        }
        uint32_t v = coll_route_vertex(r, p->nspace, p->rank);
        if (v == 0) {
            err_set(err, "collective over an unknown process: %s rank %u", p->nspace,
                    p->rank);
            return -1;
        }
        if (tree_contains(&r->tree, r->self, v))
            expected[coll_route_contributor(r, v)] = true;
    }
    return 0;
}
