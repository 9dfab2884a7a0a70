// What ranks ask to be printed (Open MPI 5 prints its help texts so).
#ifndef MUSTER_AGENT_PMIX_LOG_H
#define MUSTER_AGENT_PMIX_LOG_H

#include "agent/pmix_upcall.h"

// Texts of all ranks here together: this way of printing has no credit.
enum { PMIXD_LOG_MAX = 1 << 20 };

struct pmixd_wire;

struct pmixd_log {
    struct pmixd_wire *wire;
    size_t passed; // bytes
};

// Handler of PMIXD_CALL_LOG; the argument is a struct pmixd_log. Texts for stdout and stderr
// go where the rank's own output goes; other channels are refused.
void pmixd_log_call(void *log, struct pmixd_call *call);

#endif
