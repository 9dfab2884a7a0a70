// Reports of single clients to the agent.
#include "agent/pmix_client.h"

#include <stdio.h>

#include "agent/pmix_shift.h"
#include "agent/pmix_version.h"
#include "agent/pmix_wire.h"

enum { ABORT_FLUSH_MS = 1000 };

static void report(struct pmixd_clients *cs, struct pmixd_call *call)
{
    struct pmixd_version v;
    char version[PMIXD_VERSION_TEXT] = "";
    Muster__PmixClient m;
    muster__pmix_client__init(&m);
    m.rank = call->proc.rank;
    m.nspace = call->proc.nspace;
    m.finalized = call->kind == PMIXD_CALL_FINALIZED;
    if (!cs->version_told && pmixd_version_of_ranks(call->proc.nspace, &v)) {
        pmixd_version_text(&v, version);
        m.libpmix = version;
        cs->version_told = true;
    }
    pmixd_wire_client(cs->wire, &m);
    pmixd_call_free(call);
}

void pmixd_client_connected(void *clients, struct pmixd_call *call)
{
    report(clients, call);
}

void pmixd_client_finalized(void *clients, struct pmixd_call *call)
{
    report(clients, call);
}

// On libpmix's thread.
static void complete_abort(void *arg)
{
    struct pmixd_call *call = arg;
    call->op(PMIX_SUCCESS, call->cbdata);
    pmixd_call_free(call);
}

void pmixd_client_abort(void *clients, struct pmixd_call *call)
{
    struct pmixd_wire *wire = ((struct pmixd_clients *)clients)->wire;
    char none[] = "";
    Muster__Abort m;
    muster__abort__init(&m);
    m.rank = call->proc.rank;
    m.nspace = call->proc.nspace;
    m.status = call->status;
    m.text = call->text != NULL ? call->text : none;
    pmixd_wire_abort(wire, &m);
    pmixd_wire_flush(wire, ABORT_FLUSH_MS);
    pmixd_shift_to_pmix(complete_abort, call);
}
