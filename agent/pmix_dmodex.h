// Direct modex: data of single processes, asked across pods when it is needed.
#ifndef MUSTER_AGENT_PMIX_DMODEX_H
#define MUSTER_AGENT_PMIX_DMODEX_H

#include "agent/pmix_upcall.h"
#include "wire/muster.pb-c.h"

struct pmixd_dmodex;
struct pmixd_shift;
struct pmixd_wire;

struct pmixd_dmodex *pmixd_dmodex_create(struct pmixd_wire *wire,
                                         struct pmixd_shift *shift);
void pmixd_dmodex_destroy(struct pmixd_dmodex *d); // NULL-safe; completes nothing

// Handler of PMIXD_CALL_MODEX: a rank of ours needs data of a rank elsewhere.
void pmixd_dmodex_call(void *dmodex, struct pmixd_call *call);
// MODEX_DONE: its answer. Unknown ids are dropped.
void pmixd_dmodex_done(struct pmixd_dmodex *d, const Muster__Modex *answer);
// MODEX: `asker` needs data of a rank of ours. libpmix answers once the rank has put
// it; if the rank dies before that, only the agent knows.
void pmixd_dmodex_serve(struct pmixd_dmodex *d, const Muster__Modex *request,
                        uint32_t asker);

#endif
