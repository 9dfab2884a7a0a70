// Fences: the local part goes to the agent, the result comes back to libpmix.
#ifndef MUSTER_AGENT_PMIX_FENCE_H
#define MUSTER_AGENT_PMIX_FENCE_H

#include "agent/pmix_upcall.h"
#include "wire/muster.pb-c.h"

struct pmixd_fences;
struct pmixd_wire;

struct pmixd_fences *pmixd_fences_create(struct pmixd_wire *wire);
void pmixd_fences_destroy(struct pmixd_fences *f); // NULL-safe; completes nothing

// Handler of PMIXD_CALL_FENCE.
void pmixd_fences_call(void *fences, struct pmixd_call *call);
// COLL_DONE. A result for which nobody waits is dropped: a fence that failed before our
// ranks came to it is answered again when they do.
void pmixd_fences_done(struct pmixd_fences *f, const Muster__Coll *result);

#endif
