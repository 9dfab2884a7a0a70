// The only way across the border between libpmix's thread and the event loop.
#ifndef MUSTER_AGENT_PMIX_SHIFT_H
#define MUSTER_AGENT_PMIX_SHIFT_H

#include "common/err.h"

struct event_base;
struct pmixd_shift;

typedef void (*pmixd_shift_fn)(void *arg);

struct pmixd_shift *pmixd_shift_create(struct event_base *base, struct err *err);
// NULL-safe. No other thread may use it any more; what waits is dropped unrun.
void pmixd_shift_destroy(struct pmixd_shift *s);

// Run fn(arg) in the event loop. From any thread; calls keep their order. fn owns arg.
void pmixd_shift_to_loop(struct pmixd_shift *s, pmixd_shift_fn fn, void *arg);

// Run fn(arg) on libpmix's own thread. For completions that libpmix before 5.0.10
// handles without a lock or shift of its own (lookup, query, job control, event
// registration, and plain operations such as abort). After PMIx_server_init only.
void pmixd_shift_to_pmix(pmixd_shift_fn fn, void *arg);

#endif
