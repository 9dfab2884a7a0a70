// Fences over any list of processes, any number at a time.
#include "agent/pmix_fence.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "agent/pmix_proc.h"
#include "agent/pmix_wire.h"
#include "common/mem.h"

// A fence that waits for its result.
struct pending {
    UT_hash_handle hh;
    struct buf key; // coll_key()
    struct pmixd_call *call;
};

// How many fences have begun over one list of processes.
struct counter {
    UT_hash_handle hh;
    struct buf key; // coll_key() with index 0
    uint64_t begun;
};

struct pmixd_fences {
    struct pmixd_wire *wire;
    struct pending *pending;
    struct counter *counters;
};

struct pmixd_fences *pmixd_fences_create(struct pmixd_wire *wire)
{
    struct pmixd_fences *f = xcalloc(1, sizeof *f);
    f->wire = wire;
    return f;
}

static void remove_pending(struct pmixd_fences *f, struct pending *p)
{
    HASH_DEL(f->pending, p);
    buf_free(&p->key);
    free(p);
}

void pmixd_fences_destroy(struct pmixd_fences *f)
{
    if (f == NULL)
        return;
    struct pending *p, *next;
    HASH_ITER (hh, f->pending, p, next) {
        pmixd_call_free(p->call);
        remove_pending(f, p);
    }
    struct counter *c, *after;
    HASH_ITER (hh, f->counters, c, after) {
        HASH_DEL(f->counters, c);
        buf_free(&c->key);
        free(c);
    }
    free(f);
}

static uint64_t next_index(struct pmixd_fences *f, const Muster__Coll *m)
{
    BUF_AUTO key = BUF_INIT;
    coll_key(&key, m);
    struct counter *c;
    HASH_FIND(hh, f->counters, buf_data(&key), buf_len(&key), c);
    if (c == NULL) {
        c = xcalloc(1, sizeof *c);
        c->key = key;
        key = (struct buf)BUF_INIT;
        HASH_ADD_KEYPTR(hh, f->counters, buf_data(&c->key), buf_len(&c->key), c);
    }
    return c->begun++;
}

static void add_pending(struct pmixd_fences *f, const Muster__Coll *m,
                        struct pmixd_call *call)
{
    struct pending *p = xcalloc(1, sizeof *p);
    coll_key(&p->key, m);
    p->call = call;
    HASH_ADD_KEYPTR(hh, f->pending, buf_data(&p->key), buf_len(&p->key), p);
}

static int by_name(const void *a, const void *b)
{
    const pmix_proc_t *x = a, *y = b;
    int order = strcmp(x->nspace, y->nspace);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static void send_part(struct pmixd_fences *f, Muster__Coll *m,
                      const struct pmixd_call *call)
{
    static char died[] = "a participant of the fence died before it got there";
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
    pmixd_wire_coll(f->wire, m);
}

void pmixd_fences_call(void *fences, struct pmixd_call *call)
{
    struct pmixd_fences *f = fences;
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
    m.kind = COLL_FENCE;
    m.n_procs = call->nprocs;
    m.procs = list;
    m.index = next_index(f, &m);
    add_pending(f, &m, call);
    send_part(f, &m, call);
    free(STEAL(call->data));
}

void pmixd_fences_done(struct pmixd_fences *f, const Muster__Coll *result)
{
    BUF_AUTO key = BUF_INIT;
    coll_key(&key, result);
    struct pending *p;
    HASH_FIND(hh, f->pending, buf_data(&key), buf_len(&key), p);
    if (p == NULL)
        return;
    struct pmixd_call *call = p->call;
    remove_pending(f, p);
    pmixd_call_complete(call, result->status, result->data.data, result->data.len);
}
