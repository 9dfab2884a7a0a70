// Direct modex in both directions.
#include "agent/pmix_dmodex.h"

#include <stdbool.h>
#include <stdlib.h>
#include <uthash.h>

#include "agent/pmix_proc.h"
#include "agent/pmix_shift.h"
#include "agent/pmix_wire.h"
#include "common/mem.h"

// Asked of another pod.
struct asked {
    UT_hash_handle hh;
    uint64_t id;
    struct pmixd_call *call;
};

struct pmixd_dmodex {
    struct pmixd_wire *wire;
    struct pmixd_shift *shift;
    uint64_t last_id;
    struct asked *asked;
};

// Asked of us.
struct served {
    struct pmixd_dmodex *owner;
    uint64_t id;
    uint32_t asker;
    pmix_proc_t proc;
    int status;
    uint8_t *data; // owned
    size_t len;
};

struct pmixd_dmodex *pmixd_dmodex_create(struct pmixd_wire *wire,
                                         struct pmixd_shift *shift)
{
    struct pmixd_dmodex *d = xcalloc(1, sizeof *d);
    d->wire = wire;
    d->shift = shift;
    return d;
}

void pmixd_dmodex_destroy(struct pmixd_dmodex *d)
{
    if (d == NULL)
        return;
    struct asked *a, *next;
    HASH_ITER (hh, d->asked, a, next) {
        HASH_DEL(d->asked, a);
        pmixd_call_free(a->call);
        free(a);
    }
    free(d);
}

// ---- asking -----------------------------------------------------------------

void pmixd_dmodex_call(void *dmodex, struct pmixd_call *call)
{
    struct pmixd_dmodex *d = dmodex;
    struct asked *a = xcalloc(1, sizeof *a);
    a->id = ++d->last_id;
    a->call = call;
    HASH_ADD(hh, d->asked, id, sizeof a->id, a);
    Muster__Proc proc;
    pmixd_proc_to_wire(&proc, &call->proc);
    Muster__Modex m;
    muster__modex__init(&m);
    m.id = a->id;
    m.proc = &proc;
    pmixd_wire_modex(d->wire, &m);
}

void pmixd_dmodex_done(struct pmixd_dmodex *d, const Muster__Modex *answer)
{
    struct asked *a;
    HASH_FIND(hh, d->asked, &answer->id, sizeof answer->id, a);
    if (a == NULL)
        return;
    HASH_DEL(d->asked, a);
    pmixd_call_complete(a->call, answer->status, answer->data.data, answer->data.len);
    free(a);
}

// ---- serving ----------------------------------------------------------------

// In the loop.
static void answer(void *arg)
{
    struct served *s = arg;
    Muster__Proc proc;
    pmixd_proc_to_wire(&proc, &s->proc);
    Muster__Modex m;
    muster__modex__init(&m);
    m.id = s->id;
    m.proc = &proc;
    m.status = s->status;
    m.data = (ProtobufCBinaryData){.len = s->len, .data = s->data};
    pmixd_wire_modex_done(s->owner->wire, &m, s->asker);
    free(s->data);
    free(s);
}

// On libpmix's thread; data is valid during the call.
static void on_response(pmix_status_t status, char *data, size_t len, void *cbdata)
{
    struct served *s = cbdata;
    bool fits = len <= PMIXD_DATA_MAX;
    s->status = fits ? status : PMIX_ERR_OUT_OF_RESOURCE;
    s->len = fits ? len : 0;
    s->data = xmemdup(data, s->len);
    pmixd_shift_to_loop(s->owner->shift, answer, s);
}

void pmixd_dmodex_serve(struct pmixd_dmodex *d, const Muster__Modex *request,
                        uint32_t asker)
{
    struct served *s = xcalloc(1, sizeof *s);
    s->owner = d;
    s->id = request->id;
    s->asker = asker;
    s->status = PMIX_ERR_BAD_PARAM;
    if (request->proc != NULL) {
        pmixd_proc_from_wire(&s->proc, request->proc);
        s->status = PMIx_server_dmodex_request(&s->proc, on_response, s);
    }
    if (s->status != PMIX_SUCCESS)
        answer(s);
}
