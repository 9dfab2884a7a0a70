// What single clients do: connect, finalize, abort.
#ifndef MUSTER_AGENT_PMIX_CLIENT_H
#define MUSTER_AGENT_PMIX_CLIENT_H

#include "agent/pmix_upcall.h"

// Handlers of PMIXD_CALL_CONNECTED, _FINALIZED and _ABORT; the argument is the
// struct pmixd_wire.
void pmixd_client_connected(void *wire, struct pmixd_call *call);
void pmixd_client_finalized(void *wire, struct pmixd_call *call);
// The agent has the word before the rank gets its answer, and may go on to die of it.
void pmixd_client_abort(void *wire, struct pmixd_call *call);

#endif
