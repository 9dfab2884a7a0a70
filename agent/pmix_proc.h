// Between libpmix's process names and those of the wire.
#ifndef MUSTER_AGENT_PMIX_PROC_H
#define MUSTER_AGENT_PMIX_PROC_H

#include <pmix_common.h>

#include "wire/coll.h"

// *out borrows the namespace of *p.
static inline void pmixd_proc_to_wire(Muster__Proc *out, pmix_proc_t *p)
{
    muster__proc__init(out);
    out->nspace = p->nspace;
    out->rank = p->rank == PMIX_RANK_WILDCARD ? COLL_RANK_ALL : p->rank;
}

static inline void pmixd_proc_from_wire(pmix_proc_t *out, const Muster__Proc *p)
{
    PMIX_LOAD_PROCID(out, p->nspace,
                     p->rank == COLL_RANK_ALL ? PMIX_RANK_WILDCARD : p->rank);
}

#endif
