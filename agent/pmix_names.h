// Publish, lookup and unpublish: requests go to the launcher, which holds the store.
#ifndef MUSTER_AGENT_PMIX_NAMES_H
#define MUSTER_AGENT_PMIX_NAMES_H

#include "agent/pmix_upcall.h"
#include "wire/muster.pb-c.h"

struct pmixd_names;
struct pmixd_wire;

struct pmixd_names *pmixd_names_create(struct pmixd_wire *wire);
void pmixd_names_destroy(struct pmixd_names *n); // NULL-safe; completes nothing

// Handler of PMIXD_CALL_PUBLISH, _LOOKUP and _UNPUBLISH.
void pmixd_names_call(void *names, struct pmixd_call *call);
// NAMES_DONE: the answer. Unknown ids are dropped.
void pmixd_names_done(struct pmixd_names *n, const Muster__NamesDone *done);

#endif
