// The core of allgather collectives, for every vertex of the tree. No I/O.
//
// A collective is known by (kind, name, procs, index). A vertex waits for one part from each
// of its contributors that host participants: its own muster-pmixd and its children.
// When all are in, done() gives the merged part: an inner vertex sends it up as its own
// part, the root sends it down as the result. Data is concatenated in any order; the
// first failure (status not 0) wins, and the data of a failed collective is dropped.
//
// A rank that is gone never contributes. coll_fail_rank() ends every collective that
// waits for it, at once; parts of that collective that come later are answered one by
// one through late(), since no result will come for them again. An inner vertex that
// gets a failed result from above hands it to coll_close() for the same reason.
//
// `procs` must come in one order from all contributors (muster-pmixd sorts them).
#ifndef MUSTER_WIRE_COLL_H
#define MUSTER_WIRE_COLL_H

#include <stdbool.h>

#include "common/buf.h"
#include "common/err.h"
#include "wire/muster.pb-c.h"

#define COLL_RANK_ALL 0xffffffffu // a Proc's rank: all ranks of its namespace

// Coll.kind
enum {
    COLL_FENCE = 1,
    COLL_CONNECT = 2,
    COLL_DISCONNECT = 3,
    COLL_GROUP = 4, // construct: the root gives its result a number
    COLL_UNGROUP = 5,
    COLL_PMI1 = 16, // a barrier of PMI-1 ranks, kept by the agent itself
};

struct coll_table;

// The messages given are valid during the call. Callbacks may add parts and fail ranks,
// but not destroy the table.
struct coll_ops {
    // Set expected[i] for each contributor i that hosts participants of c->procs; all
    // are false before. Returns -1 with err for procs that make no sense (unknown
    // namespace, rank beyond the world).
    int (*expect)(void *arg, const Muster__Coll *c, bool *expected, struct err *err);
    // The collective is complete or has failed. Once for each.
    void (*done)(void *arg, const Muster__Coll *result);
    // `contributor` came with its part after the collective had failed: only it still
    // needs the result.
    void (*late)(void *arg, size_t contributor, const Muster__Coll *result);
};

struct coll_limits {
    size_t open;  // collectives at a time, failed ones that await late parts included
    size_t bytes; // data held for all open collectives together
};

// Contributors are numbered 0 .. contributors-1 by the caller. limits NULL: 4,096
// collectives and 256 MiB. One collective is also bounded by what fits into a frame.
struct coll_table *coll_create(size_t contributors, const struct coll_limits *limits,
                               const struct coll_ops *ops, void *arg);
void coll_destroy(struct coll_table *t); // NULL-safe; silent

// A part came. May call done() or late(). On -1 nothing has changed: a contributor that
// is not expected or comes twice, a limit.
int coll_add(struct coll_table *t, size_t from, const Muster__Coll *part,
             struct err *err);
// A result came from above. Drops what is open under its key; where it is a failure,
// parts that are still missing are answered by late(). Calls nothing.
void coll_close(struct coll_table *t, const Muster__Coll *result);
// The rank is gone: every open and every later collective with it fails. `status` is
// not 0; `why` is copied.
void coll_fail_rank(struct coll_table *t, const char *nspace, uint32_t rank,
                    int32_t status, const char *why);

// Collectives in the table (failed ones that await late parts included).
size_t coll_open(const struct coll_table *t);

// The key of a collective as bytes, appended to *out.
void coll_key(struct buf *out, const Muster__Coll *c);

#endif
