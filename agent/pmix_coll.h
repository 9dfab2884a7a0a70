// Fences, connect, disconnect and groups: the local part goes to the agent, the result comes back
// to libpmix. Every namespace of the attempt is registered in every server, so that
// connected processes know each other's jobs already.
#ifndef MUSTER_AGENT_PMIX_COLL_H
#define MUSTER_AGENT_PMIX_COLL_H

#include "agent/pmix_upcall.h"
#include "wire/muster.pb-c.h"

struct pmixd_colls;
struct pmixd_wire;

struct pmixd_colls *pmixd_colls_create(struct pmixd_wire *wire);
void pmixd_colls_destroy(struct pmixd_colls *c); // NULL-safe; completes nothing

// Handler of PMIXD_CALL_FENCE, _CONNECT, _DISCONNECT, _GROUP and _UNGROUP.
void pmixd_colls_call(void *cences, struct pmixd_call *call);
// COLL_DONE. A result for which nobody waits is dropped: a collective that failed before
// our ranks came to it is answered again when they do.
void pmixd_colls_done(struct pmixd_colls *c, const Muster__Coll *result);

#endif
