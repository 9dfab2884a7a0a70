// Published names between libpmix and the wire.
#include "agent/pmix_names.h"

#include <pmix.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "agent/pmix_proc.h"
#include "agent/pmix_shift.h"
#include "agent/pmix_value.h"
#include "agent/pmix_wire.h"
#include "common/mem.h"
#include "wire/namestore.h"

struct asked {
    UT_hash_handle hh;
    uint64_t id;
    struct pmixd_call *call;
};

struct pmixd_names {
    struct pmixd_wire *wire;
    uint64_t last_id;
    struct asked *asked;
};

struct pmixd_names *pmixd_names_create(struct pmixd_wire *wire)
{
    struct pmixd_names *n = xcalloc(1, sizeof *n);
    n->wire = wire;
    return n;
}

void pmixd_names_destroy(struct pmixd_names *n)
{
    if (n == NULL)
        return;
    struct asked *a, *next;
    HASH_ITER (hh, n->asked, a, next) {
        HASH_DEL(n->asked, a);
        pmixd_call_free(a->call);
        free(a);
    }
    free(n);
}

// ---- requests -----------------------------------------------------------------

static uint32_t range_to_wire(pmix_data_range_t range)
{
    switch (range) {
    case PMIX_RANGE_PROC_LOCAL: return NAMESTORE_PROC;
    case PMIX_RANGE_LOCAL: return NAMESTORE_NODE;
    case PMIX_RANGE_NAMESPACE: return NAMESTORE_NSPACE;
    default: return NAMESTORE_ALL;
    }
}

// What outlives its publisher stays until the attempt ends.
static uint32_t persistence_to_wire(pmix_persistence_t persistence)
{
    switch (persistence) {
    case PMIX_PERSIST_FIRST_READ: return NAMESTORE_FIRST_READ;
    case PMIX_PERSIST_PROC: return NAMESTORE_WITH_PROC;
    default: return NAMESTORE_KEEP;
    }
}

static uint32_t number_of(const pmix_info_t *i)
{
    int number = 0;
    pmix_status_t rc;
    PMIX_VALUE_GET_NUMBER(rc, &i->value, number, int);
    return rc == PMIX_SUCCESS && number > 0 ? (uint32_t)number : 0;
}

// Returns whether the key was a directive.
static bool take_directive(Muster__Names *m, const pmix_info_t *i)
{
    if (PMIX_CHECK_KEY(i, PMIX_RANGE))
        m->range = range_to_wire(i->value.data.range);
    else if (PMIX_CHECK_KEY(i, PMIX_PERSISTENCE))
        m->persistence = persistence_to_wire(i->value.data.persist);
    else if (PMIX_CHECK_KEY(i, PMIX_TIMEOUT))
        m->timeout_s = number_of(i);
    else if (PMIX_CHECK_KEY(i, PMIX_WAIT)) // 0, or no number: for all of them
        m->wait = number_of(i) > 0 ? number_of(i) : UINT32_MAX;
    else if (strncmp(i->key, "pmix.", 5) != 0)
        return false;
    return true;
}

// The data of a publish.
static void add_values(Muster__Names *m, const struct pmixd_call *call,
                       struct buf *values)
{
    for (size_t k = 0; k < call->ninfo; k++) {
        const pmix_info_t *i = &call->info[k];
        if (take_directive(m, i))
            continue;
        Muster__NamesItem *item = m->items[m->n_items];
        pmixd_value_pack(&values[m->n_items], &i->value);
        item->key = call->info[k].key;
        item->value.data = buf_data(&values[m->n_items]);
        item->value.len = buf_len(&values[m->n_items]);
        m->n_items++;
    }
}

static void add_keys(Muster__Names *m, const struct pmixd_call *call)
{
    for (size_t k = 0; k < call->ninfo; k++)
        take_directive(m, &call->info[k]);
    for (char **key = call->keys; key != NULL && *key != NULL; key++)
        m->items[m->n_items++]->key = *key;
}

static uint32_t op_of(const struct pmixd_call *call)
{
    return call->kind == PMIXD_CALL_PUBLISH  ? NAMESTORE_PUBLISH
           : call->kind == PMIXD_CALL_LOOKUP ? NAMESTORE_LOOKUP
                                             : NAMESTORE_UNPUBLISH;
}

static size_t count_keys(const struct pmixd_call *call)
{
    size_t n = 0;
    while (call->keys != NULL && call->keys[n] != NULL)
        n++;
    return n;
}

static void send_request(struct pmixd_names *n, struct pmixd_call *call, uint64_t id)
{
    size_t max = call->ninfo + count_keys(call);
    CLEANUP_FREE Muster__NamesItem *items = xcalloc(max, sizeof *items);
    CLEANUP_FREE Muster__NamesItem **list = xcalloc(max, sizeof *list);
    CLEANUP_FREE struct buf *values = xcalloc(max, sizeof *values);
    for (size_t i = 0; i < max; i++) {
        muster__names_item__init(&items[i]);
        list[i] = &items[i];
    }
    Muster__Proc proc;
    pmixd_proc_to_wire(&proc, &call->proc);
    Muster__Names m;
    muster__names__init(&m);
    m.id = id;
    m.op = op_of(call);
    m.proc = &proc;
    m.items = list;
    if (call->kind == PMIXD_CALL_PUBLISH)
        add_values(&m, call, values);
    else
        add_keys(&m, call);
    pmixd_wire_names(n->wire, &m);
    for (size_t i = 0; i < max; i++)
        buf_free(&values[i]);
}

void pmixd_names_call(void *names, struct pmixd_call *call)
{
    struct pmixd_names *n = names;
    struct asked *a = xcalloc(1, sizeof *a);
    a->id = ++n->last_id;
    a->call = call;
    HASH_ADD(hh, n->asked, id, sizeof a->id, a);
    send_request(n, call, a->id);
}

// ---- answers ------------------------------------------------------------------

static pmix_status_t status_from_wire(uint32_t status)
{
    switch (status) {
    case NAMESTORE_OK: return PMIX_SUCCESS;
    case NAMESTORE_PARTIAL: return PMIX_ERR_PARTIAL_SUCCESS;
    case NAMESTORE_NOT_FOUND: return PMIX_ERR_NOT_FOUND;
    case NAMESTORE_DUPLICATE: return PMIX_ERR_DUPLICATE_KEY;
    case NAMESTORE_TIMEOUT: return PMIX_ERR_TIMEOUT;
    case NAMESTORE_FULL: return PMIX_ERR_OUT_OF_RESOURCE;
    default: return PMIX_ERR_BAD_PARAM;
    }
}

// For libpmix's thread: its completions of lookups take no lock.
struct completion {
    struct pmixd_call *call;
    pmix_status_t status;
    pmix_pdata_t *data;
    size_t n;
};

static void complete(void *arg)
{
    struct completion *c = arg;
    if (c->call->kind == PMIXD_CALL_LOOKUP)
        c->call->lookup(c->status, c->data, c->n, c->call->cbdata);
    else
        c->call->op(c->status, c->call->cbdata);
    if (c->data != NULL)
        PMIX_PDATA_FREE(c->data, c->n);
    pmixd_call_free(c->call);
    free(c);
}

static void take_items(struct completion *c, const Muster__NamesDone *done)
{
    if (done->n_items == 0)
        return;
    PMIX_PDATA_CREATE(c->data, done->n_items);
    if (c->data == NULL)
        return;
    for (size_t i = 0; i < done->n_items; i++) {
        const Muster__NamesItem *from = done->items[i];
        pmix_pdata_t *to = &c->data[c->n];
        if (from->owner == NULL || pmixd_value_unpack(&to->value, &from->value) < 0)
            continue;
        pmixd_proc_from_wire(&to->proc, from->owner);
        PMIX_LOAD_KEY(to->key, from->key);
        c->n++;
    }
}

void pmixd_names_done(struct pmixd_names *n, const Muster__NamesDone *done)
{
    struct asked *a;
    HASH_FIND(hh, n->asked, &done->id, sizeof done->id, a);
    if (a == NULL)
        return;
    HASH_DEL(n->asked, a);
    struct completion *c = xcalloc(1, sizeof *c);
    c->call = a->call;
    c->status = status_from_wire(done->status);
    take_items(c, done);
    free(a);
    pmixd_shift_to_pmix(complete, c);
}
