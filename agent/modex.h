// Direct modex that other pods ask of this one, from asking to answering. Pure.
//
// libpmix keeps a request until the rank has given its data and says nothing when it ends
// before: so its end answers what still waits for it.
#ifndef MUSTER_AGENT_MODEX_H
#define MUSTER_AGENT_MODEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/muster.pb-c.h"

struct modex;

// Says to the asking vertex that there will be no data.
typedef void (*modex_fail_fn)(void *arg, uint32_t asker, const Muster__Modex *answer);

// At most `max` wait at a time.
struct modex *modex_create(size_t max, modex_fail_fn fail, void *arg);
void modex_destroy(struct modex *m); // NULL-safe; answers nothing

// A request goes to the PMIx server. false: too many wait; it was told so.
bool modex_asked(struct modex *m, uint32_t asker, const Muster__Modex *request);
// The server's answer; false when it comes too late: the asker has one.
bool modex_answered(struct modex *m, uint32_t asker, uint64_t id);
// Says so for a request that is not known here.
void modex_fail(struct modex *m, uint32_t asker, const Muster__Modex *request);
void modex_rank_gone(struct modex *m, const char *nspace, uint32_t rank);
size_t modex_waiting(const struct modex *m);

#endif
