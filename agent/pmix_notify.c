// Events to and from other pods.
#include "agent/pmix_notify.h"

#include <pmix.h>
#include <stdlib.h>

#include "agent/pmix_info.h"
#include "agent/pmix_proc.h"
#include "agent/pmix_value.h"
#include "agent/pmix_wire.h"
#include "common/mem.h"

void pmixd_notify_call(void *wire, struct pmixd_call *call)
{
    BUF_AUTO info = BUF_INIT;
    Muster__Proc source;
    Muster__Notify m;
    muster__notify__init(&m);
    pmixd_proc_to_wire(&source, &call->proc);
    pmixd_value_pack_info(&info, call->info, call->ninfo);
    m.code = call->status;
    m.source = &source;
    m.range = call->range;
    m.info.data = buf_data(&info);
    m.info.len = buf_len(&info);
    pmixd_wire_notify(wire, &m);
    pmixd_call_free(call);
}

// ---- from elsewhere -----------------------------------------------------------

// What libpmix holds until it has told all clients.
struct delivery {
    pmix_proc_t source;
    pmix_info_t *info;
    size_t n;
};

static void release(pmix_status_t status, void *arg)
{
    struct delivery *d = arg;
    if (d->info != NULL)
        PMIX_INFO_FREE(d->info, d->n);
    free(d);
}

static void raise_event(struct delivery *d, pmix_status_t code, pmix_data_range_t range)
{
    pmix_status_t rc =
        PMIx_Notify_event(code, &d->source, range, d->info, d->n, release, d);
    if (rc != PMIX_SUCCESS) // then release() is not called
        release(rc, d);
}

static pmix_status_t code_of(Muster__Notify__Ended how)
{
    switch (how) {
    case MUSTER__NOTIFY__ENDED__ABORTED: return PMIX_ERR_PROC_ABORTED;
    case MUSTER__NOTIFY__ENDED__SIGNALED: return PMIX_ERR_PROC_ABORTED_BY_SIG;
    default: return PMIX_ERR_PROC_TERM_WO_SYNC;
    }
}

// Only for handlers that ask for this code: a handler for everything would abort its rank
// while the job is ended in order.
static void raise_ended(struct delivery *d, Muster__Notify__Ended how)
{
    d->n = 2;
    PMIX_INFO_CREATE(d->info, d->n);
    PMIX_INFO_LOAD(&d->info[0], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&d->info[1], PMIX_EVENT_AFFECTED_PROC, &d->source, PMIX_PROC);
    raise_event(d, code_of(how), PMIX_RANGE_SESSION);
}

void pmixd_notify_deliver(const Muster__Notify *m)
{
    if (m->source == NULL)
        return;
    struct delivery *d = xcalloc(1, sizeof *d);
    pmixd_proc_from_wire(&d->source, m->source);
    if (m->code == 0)
        raise_ended(d, m->ended);
    else if (pmixd_value_unpack_info(&d->info, &d->n, &m->info) == 0)
        raise_event(d, m->code, (pmix_data_range_t)m->range);
    else
        release(PMIX_ERROR, d);
}
