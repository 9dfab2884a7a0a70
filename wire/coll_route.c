// Contributors of collectives, from the tree and the positions.
#include "wire/coll_route.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

struct world {
    char *nspace;     // owned
    uint32_t *vertex; // owned, of each rank
    uint32_t ranks;
    bool *hosts; // owned, [contributor]: hosts ranks of this world at all
};

struct coll_route {
    struct tree tree;
    uint32_t self, first, children;
    struct world *worlds;
    size_t nworlds;
};

static void world_free(struct world *w)
{
    free(w->nspace);
    free(w->vertex);
    free(w->hosts);
}

// Every rank of 0 .. ranks-1 stands at exactly one vertex of the tree. The numbers come
// from the network: nothing is written before they are known to be good.
static int place(const struct tree *tree, struct world *w, const Muster__Position *p,
                 struct err *err)
{
    if (p->vertex == 0 || p->vertex >= tree->vertices) {
        err_set(err, "position of %s: vertex %u is none of the %u of the tree", p->name,
                p->vertex, tree->vertices);
        return -1;
    }
    for (size_t k = 0; k < p->n_ranks; k++) {
        uint32_t rank = p->ranks[k];
        if (rank >= w->ranks || w->vertex[rank] != 0) {
            err_set(err, "position of %s: rank %u is %s (%u ranks in all)", p->name,
                    rank, rank >= w->ranks ? "beyond the world" : "placed twice",
                    w->ranks);
            return -1;
        }
        w->vertex[rank] = p->vertex;
    }
    return 0;
}

static int place_all(const struct tree *tree, struct world *w, const Muster__Prepare *p,
                     struct err *err)
{
    size_t ranks = 0;
    for (size_t i = 0; i < p->n_positions; i++)
        ranks += p->positions[i]->n_ranks;
    w->ranks = (uint32_t)ranks; // a frame holds less than 2^32 of them
    w->vertex = xcalloc(ranks, sizeof *w->vertex);
    for (size_t i = 0; i < p->n_positions; i++)
        if (place(tree, w, p->positions[i], err) < 0)
            return -1;
    return 0;
}

static const struct world *find(const struct coll_route *r, const char *nspace)
{
    for (size_t i = 0; i < r->nworlds; i++)
        if (strcmp(r->worlds[i].nspace, nspace) == 0)
            return &r->worlds[i];
    return NULL;
}

int coll_route_add(struct coll_route *r, const Muster__Prepare *prepare,
                   struct err *err)
{
    struct world w = {.nspace = xstrdup(prepare->nspace)};
    if (find(r, prepare->nspace) != NULL) {
        err_set(err, "the namespace %s exists", prepare->nspace);
        world_free(&w);
        return -1;
    }
    if (place_all(&r->tree, &w, prepare, err) < 0) {
        world_free(&w);
        return -1;
    }
    w.hosts = xcalloc(r->children + 1, sizeof *w.hosts);
    for (size_t i = 0; i < prepare->n_positions; i++) {
        uint32_t v = prepare->positions[i]->vertex;
        if (tree_contains(&r->tree, r->self, v))
            w.hosts[coll_route_contributor(r, v)] = true;
    }
    r->worlds = xrealloc(r->worlds, r->nworlds + 1, sizeof *r->worlds);
    r->worlds[r->nworlds++] = w;
    return 0;
}

struct coll_route *coll_route_create(const struct tree *tree, uint32_t self,
                                     const Muster__Prepare *prepare, struct err *err)
{
    struct coll_route *r = xcalloc(1, sizeof *r);
    r->tree = *tree;
    r->self = self;
    r->children = tree_children(tree, self, &r->first);
    if (coll_route_add(r, prepare, err) == 0)
        return r;
    coll_route_destroy(r);
    return NULL;
}

void coll_route_destroy(struct coll_route *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->nworlds; i++)
        world_free(&r->worlds[i]);
    free(r->worlds);
    free(r);
}

uint32_t coll_route_contributors(const struct coll_route *r)
{
    return r->children + 1;
}

uint32_t coll_route_vertex(const struct coll_route *r, const char *nspace,
                           uint32_t rank)
{
    const struct world *w = find(r, nspace);
    return w != NULL && rank < w->ranks ? w->vertex[rank] : 0;
}

uint32_t coll_route_contributor(const struct coll_route *r, uint32_t vertex)
{
    uint32_t hop = tree_next_hop(&r->tree, r->self, vertex);
    return hop == r->self ? 0 : hop - r->first + 1;
}

static int expect_proc(const struct coll_route *r, const Muster__Proc *p,
                       bool *expected, struct err *err)
{
    const struct world *w = find(r, p->nspace);
    if (w != NULL && p->rank == UINT32_MAX) {
        for (uint32_t k = 0; k <= r->children; k++)
            expected[k] = expected[k] || w->hosts[k];
        return 0;
    }
    if (w == NULL || p->rank >= w->ranks) {
        err_set(err, "collective over an unknown process: %s rank %u", p->nspace,
                p->rank);
        return -1;
    }
    if (tree_contains(&r->tree, r->self, w->vertex[p->rank]))
        expected[coll_route_contributor(r, w->vertex[p->rank])] = true;
    return 0;
}

int coll_route_expect(const struct coll_route *r, const Muster__Coll *c, bool *expected,
                      struct err *err)
{
    for (size_t i = 0; i < c->n_procs; i++)
        if (expect_proc(r, c->procs[i], expected, err) < 0)
            return -1;
    return 0;
}
