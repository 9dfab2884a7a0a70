// Start of libpmix's server, before the job is known.
#ifndef MUSTER_AGENT_PMIX_INIT_H
#define MUSTER_AGENT_PMIX_INIT_H

#include <pmix_server.h>

#include "common/err.h"

// Clears what the surroundings would tell libpmix, sets what it needs, blocks all
// signals (its threads inherit the mask) and starts it. Costs 50 to 80 ms, which is why
// a server is started ahead of the job. Unfit to be undone: libpmix's own finalize can
// hang after clients died, so the process just exits.
int pmixd_init(pmix_server_module_t *module, struct err *err);

#endif
