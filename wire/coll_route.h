// Which contributors of a vertex take part in a collective. Pure.
//
// Contributor 0 is the vertex itself (its muster-pmixd), contributor i + 1 its i-th
// child in the tree. Made once an attempt from the Prepare message.
#ifndef MUSTER_WIRE_COLL_ROUTE_H
#define MUSTER_WIRE_COLL_ROUTE_H

#include <stdbool.h>

#include "common/err.h"
#include "wire/muster.pb-c.h"
#include "wire/tree.h"

struct coll_route;

// NULL with err when the positions make no sense: ranks that are not exactly 0 .. n-1,
// a vertex that is not in the tree.
struct coll_route *coll_route_create(const struct tree *tree, uint32_t self,
                                     const Muster__Prepare *prepare, struct err *err);
void coll_route_destroy(struct coll_route *r); // NULL-safe
uint32_t coll_route_contributors(const struct coll_route *r);
// A further world of the attempt. -1 with err, and nothing changed, when it makes no sense.
int coll_route_add(struct coll_route *r, const Muster__Prepare *prepare,
                   struct err *err);
// As coll_ops.expect.
int coll_route_expect(const struct coll_route *r, const Muster__Coll *c, bool *expected,
                      struct err *err);
// Vertex that hosts a rank of the namespace; 0 when there is no such rank.
uint32_t coll_route_vertex(const struct coll_route *r, const char *nspace,
                           uint32_t rank);
// The contributor through which a vertex below is reached.
uint32_t coll_route_contributor(const struct coll_route *r, uint32_t vertex);

#endif
