// Queries that can be answered in the pod: process sets (there are none) and namespaces.
#ifndef MUSTER_AGENT_PMIX_QUERY_H
#define MUSTER_AGENT_PMIX_QUERY_H

#include "agent/pmix_upcall.h"

// Handler of PMIXD_CALL_QUERY; the argument is the struct strv of registered namespaces.
void pmixd_query_call(void *nspaces, struct pmixd_call *call);

#endif
