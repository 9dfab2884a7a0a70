// Collectives over any list of processes, any number at a time.
#include "agent/pmix_coll.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "agent/pmix_info.h"
#include "agent/pmix_proc.h"
#include "agent/pmix_wire.h"
#include "common/mem.h"

// A collective that waits for its result.
struct pending {
    UT_hash_handle hh;
    struct buf key; // coll_key()
    struct pmixd_call *call;
};

// How many of one kind have begun over one list of processes.
struct counter {
    UT_hash_handle hh;
    struct buf key; // coll_key() with index 0
    uint64_t begun;
};

struct pmixd_colls {
    struct pmixd_wire *wire;
    struct pending *pending;
    struct counter *counters;
};

struct pmixd_colls *pmixd_colls_create(struct pmixd_wire *wire)
{
    struct pmixd_colls *cs = xcalloc(1, sizeof *cs);
    cs->wire = wire;
    return cs;
}

static void remove_pending(struct pmixd_colls *cs, struct pending *p)
{
    HASH_DEL(cs->pending, p);
    buf_free(&p->key);
    free(p);
}

void pmixd_colls_destroy(struct pmixd_colls *cs)
{
    if (cs == NULL)
        return;
    struct pending *p, *next;
    HASH_ITER (hh, cs->pending, p, next) {
        pmixd_call_free(p->call);
        remove_pending(cs, p);
    }
    struct counter *c, *after;
    HASH_ITER (hh, cs->counters, c, after) {
        HASH_DEL(cs->counters, c);
        buf_free(&c->key);
        free(c);
    }
    free(cs);
}

static uint64_t next_index(struct pmixd_colls *cs, const Muster__Coll *m)
{
    BUF_AUTO key = BUF_INIT;
    coll_key(&key, m);
    struct counter *c;
    HASH_FIND(hh, cs->counters, buf_data(&key), buf_len(&key), c);
    if (c == NULL) {
        c = xcalloc(1, sizeof *c);
        c->key = key;
        key = (struct buf)BUF_INIT;
        HASH_ADD_KEYPTR(hh, cs->counters, buf_data(&c->key), buf_len(&c->key), c);
    }
    return c->begun++;
}

static void add_pending(struct pmixd_colls *cs, const Muster__Coll *m,
                        struct pmixd_call *call)
{
    struct pending *p = xcalloc(1, sizeof *p);
    coll_key(&p->key, m);
    p->call = call;
    HASH_ADD_KEYPTR(hh, cs->pending, buf_data(&p->key), buf_len(&p->key), p);
}

static int by_name(const void *a, const void *b)
{
    const pmix_proc_t *x = a, *y = b;
    int order = strcmp(x->nspace, y->nspace);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static void send_part(struct pmixd_colls *cs, Muster__Coll *m,
                      const struct pmixd_call *call)
{
    static char died[] = "a participant of the collective died before it got there";
    static char huge[] = "the data of a fence is more than a frame may hold";
    m->status = call->status;
    if (call->status != PMIX_SUCCESS) {
        m->why = died;
    } else if (call->len > PMIXD_DATA_MAX) {
        m->status = PMIX_ERR_OUT_OF_RESOURCE;
        m->why = huge;
    } else {
        m->data = (ProtobufCBinaryData){.len = call->len, .data = call->data};
    }
    pmixd_wire_coll(cs->wire, m);
}

static uint32_t kind_of(const struct pmixd_call *call)
{
    switch (call->kind) {
    case PMIXD_CALL_CONNECT: return COLL_CONNECT;
    case PMIXD_CALL_DISCONNECT: return COLL_DISCONNECT;
    case PMIXD_CALL_GROUP: return COLL_GROUP;
    case PMIXD_CALL_UNGROUP: return COLL_UNGROUP;
    default: return COLL_FENCE;
    }
}

void pmixd_colls_call(void *colls, struct pmixd_call *call)
{
    struct pmixd_colls *cs = colls;
    // One order everywhere, whatever the clients said.
    qsort(call->procs, call->nprocs, sizeof *call->procs, by_name);
    CLEANUP_FREE Muster__Proc *procs = xcalloc(call->nprocs, sizeof *procs);
    CLEANUP_FREE Muster__Proc **list = xcalloc(call->nprocs, sizeof *list);
    for (size_t i = 0; i < call->nprocs; i++) {
        pmixd_proc_to_wire(&procs[i], &call->procs[i]);
        list[i] = &procs[i];
    }
    Muster__Coll m;
    muster__coll__init(&m);
    m.kind = kind_of(call);
    m.n_procs = call->nprocs;
    m.procs = list;
    if (call->text != NULL)
        m.name = call->text;
    m.index = next_index(cs, &m);
    add_pending(cs, &m, call);
    send_part(cs, &m, call);
    free(STEAL(call->data));
}

static void release_info(void *arg)
{
    struct pmixd_info *info = arg;
    pmixd_info_free(info);
    free(info);
}

// The number of a group is its context id; since 4.2.4 libpmix wants its members named, too.
// It takes the keys up on its own thread.
static void complete_group(struct pmixd_call *call, const Muster__Coll *result)
{
    struct pmixd_info *info = xcalloc(1, sizeof *info);
    if (result->status == 0 && result->number != 0)
        pmixd_info_add_size(info, PMIX_GROUP_CONTEXT_ID, result->number);
    if (result->status == 0 && result->data.len > 0)
        pmixd_info_add_bytes(info, PMIX_GROUP_ENDPT_DATA, result->data.data,
                             result->data.len);
    if (result->status == 0 && call->kind == PMIXD_CALL_GROUP)
        pmixd_info_add_procs(info, PMIX_GROUP_MEMBERSHIP, call->procs, call->nprocs);
    call->infos(result->status, info->v, info->n, call->cbdata, release_info, info);
    pmixd_call_free(call);
}

static void complete(struct pmixd_call *call, const Muster__Coll *result)
{
    switch (call->kind) {
    case PMIXD_CALL_FENCE:
        pmixd_call_complete(call, result->status, result->data.data, result->data.len);
        break;
    case PMIXD_CALL_GROUP:
    case PMIXD_CALL_UNGROUP: complete_group(call, result); break;
    default:
        call->op(result->status, call->cbdata); // libpmix goes to its thread by itself
        pmixd_call_free(call);
        break;
    }
}

void pmixd_colls_done(struct pmixd_colls *cs, const Muster__Coll *result)
{
    BUF_AUTO key = BUF_INIT;
    coll_key(&key, result);
    struct pending *p;
    HASH_FIND(hh, cs->pending, buf_data(&key), buf_len(&key), p);
    if (p == NULL)
        return;
    struct pmixd_call *call = p->call;
    remove_pending(cs, p);
    complete(call, result);
}
