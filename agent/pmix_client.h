// What single clients do: connect, finalize, abort.
#ifndef MUSTER_AGENT_PMIX_CLIENT_H
#define MUSTER_AGENT_PMIX_CLIENT_H

#include <stdbool.h>

#include "agent/pmix_upcall.h"

struct pmixd_clients {
    struct pmixd_wire *wire;
    bool version_told; // of the ranks' libpmix
};

// Handlers of PMIXD_CALL_CONNECTED, _FINALIZED and _ABORT; the argument is the
// struct pmixd_clients.
void pmixd_client_connected(void *clients, struct pmixd_call *call);
void pmixd_client_finalized(void *clients, struct pmixd_call *call);
// The agent has the word before the rank gets its answer, and may go on to die of it.
void pmixd_client_abort(void *clients, struct pmixd_call *call);

#endif
