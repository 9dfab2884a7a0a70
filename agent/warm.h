// Keepers, one of them with a muster-pmixd, that stand by for the next attempt: it need not
// wait until programs are loaded and libpmix has started.
//
// A place whose kit was taken is filled WARM_PAUSE_MS after the attempt has ended, or
// WARM_RUN_MS after it began: neither its start nor its end pays for the next one. Each kit
// is taken once.
#ifndef MUSTER_AGENT_WARM_H
#define MUSTER_AGENT_WARM_H

#include <stdbool.h>

#include "agent/agent.h"
#include "agent/kit.h"

enum { WARM_PAUSE_MS = 1000, WARM_RUN_MS = 5000 };

struct warm;

// Nothing stands by until warm_begin().
struct warm *warm_create(struct agent *a);
void warm_begin(struct warm *w);
// An attempt has ended.
void warm_again(struct warm *w);
// Ends what stands by; no further one is started. NULL-safe.
void warm_destroy(struct warm *w);
// What stands by, or else a kit that is started now; with muster-pmixd or without. `gone`
// tells of the keeper's end as agent_watch_child says. NULL: nothing could be started.
struct agent_child *warm_take(struct warm *w, bool pmixd, struct kit *kit,
                              agent_child_fn gone, void *arg, struct err *err);

#endif
