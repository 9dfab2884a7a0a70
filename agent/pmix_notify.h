// Events between this pod's ranks and those of others.
#ifndef MUSTER_AGENT_PMIX_NOTIFY_H
#define MUSTER_AGENT_PMIX_NOTIFY_H

#include "agent/pmix_upcall.h"
#include "wire/muster.pb-c.h"

// Handler of PMIXD_CALL_NOTIFY; the argument is the struct pmixd_wire.
void pmixd_notify_call(void *wire, struct pmixd_call *call);
// NOTIFY: raised in another pod, or by the launcher: for our ranks.
void pmixd_notify_deliver(const Muster__Notify *m);

#endif
