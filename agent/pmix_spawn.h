// Spawn: a rank's wish for further ranks goes to the launcher, which maps and starts them.
#ifndef MUSTER_AGENT_PMIX_SPAWN_H
#define MUSTER_AGENT_PMIX_SPAWN_H

#include "agent/pmix_upcall.h"
#include "wire/muster.pb-c.h"

struct pmixd_spawns;
struct pmixd_wire;

struct pmixd_spawns *pmixd_spawns_create(struct pmixd_wire *wire);
void pmixd_spawns_destroy(struct pmixd_spawns *s); // NULL-safe; completes nothing

// Handler of PMIXD_CALL_SPAWN.
void pmixd_spawns_call(void *spawns, struct pmixd_call *call);
// SPAWN_DONE: the answer. Unknown ids are dropped.
void pmixd_spawns_done(struct pmixd_spawns *s, const Muster__SpawnDone *done);

#endif
