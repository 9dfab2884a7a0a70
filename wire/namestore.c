// Published items and the lookups that wait for them.
#include "wire/namestore.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/mem.h"
#include "wire/msg.h"

enum { BYTES_DEFAULT = 64 << 20, WAITING_DEFAULT = 65536 };

struct who {
    const char *nspace;
    uint32_t rank, vertex;
};

struct item {
    char *key, *nspace; // owned
    uint32_t rank, vertex;
    enum namestore_range range;
    enum namestore_persistence persistence;
    uint8_t *value; // owned
    size_t len;
    struct item *prev, *next;
};

struct waiter {
    Muster__Names *rq; // owned
    uint32_t vertex;
    struct waiter *prev, *next;
};

struct namestore {
    struct namestore_limits limits;
    namestore_done_fn done;
    void *arg;
    struct item *items; // in the order of publishing
    struct waiter *waiters;
    size_t nitems, nwaiters, bytes;
};

struct namestore *namestore_create(const struct namestore_limits *limits,
                                   namestore_done_fn done, void *arg)
{
    struct namestore *s = xcalloc(1, sizeof *s);
    s->limits = limits != NULL
                    ? *limits
                    : (struct namestore_limits){BYTES_DEFAULT, WAITING_DEFAULT};
    s->done = done;
    s->arg = arg;
    return s;
}

static size_t item_bytes(const char *key, size_t len)
{
    return strlen(key) + len + sizeof(struct item);
}

static void remove_item(struct namestore *s, struct item *i)
{
    DL_DELETE(s->items, i);
    s->nitems--;
    s->bytes -= item_bytes(i->key, i->len);
    free(i->key);
    free(i->nspace);
    free(i->value);
    free(i);
}

static void remove_waiter(struct namestore *s, struct waiter *w)
{
    DL_DELETE(s->waiters, w);
    s->nwaiters--;
    msg_free(w->rq);
    free(w);
}

void namestore_destroy(struct namestore *s)
{
    if (s == NULL)
        return;
    while (s->items != NULL)
        remove_item(s, s->items);
    while (s->waiters != NULL)
        remove_waiter(s, s->waiters);
    free(s);
}

size_t namestore_items(const struct namestore *s)
{
    return s->nitems;
}

size_t namestore_waiting(const struct namestore *s)
{
    return s->nwaiters;
}

// ---- who sees what ------------------------------------------------------------

static struct who asker(const Muster__Names *rq, uint32_t vertex)
{
    return (struct who){rq->proc->nspace, rq->proc->rank, vertex};
}

static struct who owner(const struct item *i)
{
    return (struct who){i->nspace, i->rank, i->vertex};
}

static bool same_proc(const struct who *a, const struct who *b)
{
    return a->rank == b->rank && strcmp(a->nspace, b->nspace) == 0;
}

static bool within(enum namestore_range range, const struct who *a, const struct who *b)
{
    switch (range) {
    case NAMESTORE_ALL: return true;
    case NAMESTORE_NSPACE: return strcmp(a->nspace, b->nspace) == 0;
    case NAMESTORE_NODE: return a->vertex == b->vertex;
    case NAMESTORE_PROC: return same_proc(a, b);
    }
    return false;
}

static struct item *find(const struct namestore *s, const char *key,
                         const struct who *who)
{
    struct item *i;
    DL_FOREACH (s->items, i) {
        struct who by = owner(i);
        if (strcmp(i->key, key) == 0 && within(i->range, &by, who))
            return i;
    }
    return NULL;
}

// ---- answers ------------------------------------------------------------------

static void answer(struct namestore *s, uint32_t vertex, uint64_t id,
                   enum namestore_status status)
{
    Muster__NamesDone done = MUSTER__NAMES_DONE__INIT;
    done.id = id;
    done.status = status;
    s->done(s->arg, vertex, &done);
}

static size_t count_found(const struct namestore *s, const Muster__Names *rq,
                          const struct who *who)
{
    size_t n = 0;
    for (size_t i = 0; i < rq->n_items; i++)
        n += find(s, rq->items[i]->key, who) != NULL ? 1 : 0;
    return n;
}

static void fill(Muster__NamesItem *out, Muster__Proc *by, const struct item *i)
{
    muster__proc__init(by);
    by->nspace = i->nspace;
    by->rank = i->rank;
    muster__names_item__init(out);
    out->key = i->key;
    out->owner = by;
    out->value = (ProtobufCBinaryData){.len = i->len, .data = i->value};
}

static void drop_read(struct namestore *s, const Muster__Names *rq,
                      const struct who *who)
{
    for (size_t k = 0; k < rq->n_items; k++) {
        struct item *i = find(s, rq->items[k]->key, who);
        if (i != NULL && i->persistence == NAMESTORE_FIRST_READ)
            remove_item(s, i);
    }
}

static void answer_lookup(struct namestore *s, uint32_t vertex, const Muster__Names *rq)
{
    struct who who = asker(rq, vertex);
    CLEANUP_FREE Muster__NamesItem *items = xcalloc(rq->n_items, sizeof *items);
    CLEANUP_FREE Muster__Proc *owners = xcalloc(rq->n_items, sizeof *owners);
    CLEANUP_FREE Muster__NamesItem **list = xcalloc(rq->n_items, sizeof *list);
    Muster__NamesDone done = MUSTER__NAMES_DONE__INIT;
    done.id = rq->id;
    done.items = list;
    for (size_t k = 0; k < rq->n_items; k++) {
        const struct item *i = find(s, rq->items[k]->key, &who);
        if (i == NULL)
            continue;
        fill(&items[done.n_items], &owners[done.n_items], i);
        list[done.n_items] = &items[done.n_items];
        done.n_items++;
    }
    done.status = done.n_items == rq->n_items ? NAMESTORE_OK
                  : done.n_items > 0          ? NAMESTORE_PARTIAL
                                              : NAMESTORE_NOT_FOUND;
    s->done(s->arg, vertex, &done);
    drop_read(s, rq, &who);
}

// ---- requests -----------------------------------------------------------------

static bool enough(const struct namestore *s, uint32_t vertex, const Muster__Names *rq)
{
    struct who who = asker(rq, vertex);
    size_t want = rq->wait < rq->n_items ? rq->wait : rq->n_items;
    return count_found(s, rq, &who) >= want;
}

static void serve_waiters(struct namestore *s)
{
    struct waiter *w, *next;
    DL_FOREACH_SAFE (s->waiters, w, next) {
        if (!enough(s, w->vertex, w->rq))
            continue;
        answer_lookup(s, w->vertex, w->rq);
        remove_waiter(s, w);
    }
}

static void add_item(struct namestore *s, uint32_t vertex, const Muster__Names *rq,
                     const Muster__NamesItem *from)
{
    struct item *i = xcalloc(1, sizeof *i);
    i->key = xstrdup(from->key);
    i->nspace = xstrdup(rq->proc->nspace);
    i->rank = rq->proc->rank;
    i->vertex = vertex;
    i->range = rq->range;
    i->persistence = rq->persistence;
    i->value = xmemdup(from->value.data, from->value.len);
    i->len = from->value.len;
    s->bytes += item_bytes(i->key, i->len);
    s->nitems++;
    DL_APPEND(s->items, i);
}

// Would the item be seen by somebody who sees one of that key already?
static bool collides(const struct namestore *s, const char *key, const struct who *who,
                     enum namestore_range range)
{
    struct item *i;
    DL_FOREACH (s->items, i) {
        struct who by = owner(i);
        if (strcmp(i->key, key) == 0 &&
            (within(i->range, &by, who) || within(range, who, &by)))
            return true;
    }
    return false;
}

static enum namestore_status check_publish(const struct namestore *s, uint32_t vertex,
                                           const Muster__Names *rq)
{
    struct who who = asker(rq, vertex);
    size_t bytes = s->bytes;
    if (rq->n_items == 0 || rq->range > NAMESTORE_PROC ||
        rq->persistence > NAMESTORE_WITH_PROC)
        return NAMESTORE_BAD;
    for (size_t k = 0; k < rq->n_items; k++) {
        bytes += item_bytes(rq->items[k]->key, rq->items[k]->value.len);
        if (collides(s, rq->items[k]->key, &who, rq->range))
            return NAMESTORE_DUPLICATE;
        for (size_t m = 0; m < k; m++)
            if (strcmp(rq->items[m]->key, rq->items[k]->key) == 0)
                return NAMESTORE_DUPLICATE;
    }
    return bytes > s->limits.bytes ? NAMESTORE_FULL : NAMESTORE_OK;
}

static bool publish(struct namestore *s, uint32_t vertex, const Muster__Names *rq)
{
    enum namestore_status status = check_publish(s, vertex, rq);
    for (size_t k = 0; status == NAMESTORE_OK && k < rq->n_items; k++)
        add_item(s, vertex, rq, rq->items[k]);
    answer(s, vertex, rq->id, status);
    serve_waiters(s);
    return false;
}

static Muster__Names *copy_request(const Muster__Names *rq)
{
    BUF_AUTO body = BUF_INIT;
    struct frame f = {.kind = FRAME_NAMES};
    msg_pack(&f, &body, &rq->base);
    return msg_unpack(&f, &muster__names__descriptor, NULL);
}

static bool lookup(struct namestore *s, uint32_t vertex, const Muster__Names *rq)
{
    if (rq->n_items == 0) {
        answer(s, vertex, rq->id, NAMESTORE_BAD);
        return false;
    }
    if (enough(s, vertex, rq)) {
        answer_lookup(s, vertex, rq);
        return false;
    }
    if (s->nwaiters >= s->limits.waiting) {
        answer(s, vertex, rq->id, NAMESTORE_FULL);
        return false;
    }
    struct waiter *w = xcalloc(1, sizeof *w);
    w->rq = copy_request(rq);
    w->vertex = vertex;
    DL_APPEND(s->waiters, w);
    s->nwaiters++;
    return true;
}

static bool named(const Muster__Names *rq, const char *key)
{
    for (size_t k = 0; k < rq->n_items; k++)
        if (strcmp(rq->items[k]->key, key) == 0)
            return true;
    return rq->n_items == 0;
}

static bool unpublish(struct namestore *s, uint32_t vertex, const Muster__Names *rq)
{
    struct who who = asker(rq, vertex);
    size_t removed = 0;
    struct item *i, *next;
    DL_FOREACH_SAFE (s->items, i, next) {
        struct who by = owner(i);
        if (!same_proc(&by, &who) || !named(rq, i->key))
            continue;
        remove_item(s, i);
        removed++;
    }
    bool none = removed == 0 && rq->n_items > 0;
    answer(s, vertex, rq->id, none ? NAMESTORE_NOT_FOUND : NAMESTORE_OK);
    return false;
}

bool namestore_request(struct namestore *s, uint32_t vertex, const Muster__Names *rq)
{
    if (rq->proc != NULL && rq->op == NAMESTORE_PUBLISH)
        return publish(s, vertex, rq);
    if (rq->proc != NULL && rq->op == NAMESTORE_LOOKUP)
        return lookup(s, vertex, rq);
    if (rq->proc != NULL && rq->op == NAMESTORE_UNPUBLISH)
        return unpublish(s, vertex, rq);
    answer(s, vertex, rq->id, NAMESTORE_BAD);
    return false;
}

void namestore_expire(struct namestore *s, uint32_t vertex, uint64_t id)
{
    struct waiter *w, *next;
    DL_FOREACH_SAFE (s->waiters, w, next) {
        if (w->vertex != vertex || w->rq->id != id)
            continue;
        answer(s, vertex, id, NAMESTORE_TIMEOUT);
        remove_waiter(s, w);
    }
}

void namestore_proc_gone(struct namestore *s, const char *nspace, uint32_t rank)
{
    struct item *i, *after;
    DL_FOREACH_SAFE (s->items, i, after)
        if (i->persistence == NAMESTORE_WITH_PROC && i->rank == rank &&
            strcmp(i->nspace, nspace) == 0)
            remove_item(s, i);
    struct waiter *w, *next;
    DL_FOREACH_SAFE (s->waiters, w, next)
        if (w->rq->proc->rank == rank && strcmp(w->rq->proc->nspace, nspace) == 0)
            remove_waiter(s, w);
}
