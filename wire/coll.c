// Allgather collectives: who has contributed, what is merged, what has failed.
#include "wire/coll.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "common/mem.h"
#include "wire/frame.h"
#include "wire/msg.h"

enum {
    OPEN_DEFAULT = 4096,
    BYTES_DEFAULT = 256 << 20,
    FRAME_SPARE = 4096, // of a frame, for the fields beside data and procs
};

struct entry {
    UT_hash_handle hh;
    struct buf key;     // owned
    Muster__Coll *head; // owned: kind, procs, index; data and why stay empty
    bool *missing;      // owned, by contributor
    size_t nmissing;
    struct buf data; // merged so far
    int32_t status;  // of the first failure
    char *why;       // owned, of the first failure; NULL: none
    bool failed;     // done() was called; late parts are still missing
};

struct lost_rank {
    char *nspace; // owned
    uint32_t rank;
    int32_t status;
    char *why; // owned
};

struct coll_table {
    size_t contributors;
    struct coll_limits limits;
    const struct coll_ops *ops;
    void *arg;
    struct entry *entries; // uthash
    size_t bytes;          // data of all entries
    struct lost_rank *lost;
    size_t nlost;
};

struct coll_table *coll_create(size_t contributors, const struct coll_limits *limits,
                               const struct coll_ops *ops, void *arg)
{
    struct coll_table *t = xcalloc(1, sizeof *t);
    t->contributors = contributors;
    t->limits =
        limits != NULL ? *limits : (struct coll_limits){OPEN_DEFAULT, BYTES_DEFAULT};
    t->ops = ops;
    t->arg = arg;
    return t;
}

static void entry_free(struct entry *e)
{
    buf_free(&e->key);
    msg_free(e->head);
    free(e->missing);
    buf_free(&e->data);
    free(e->why);
    free(e);
}

static void drop_data(struct coll_table *t, struct entry *e)
{
    t->bytes -= buf_len(&e->data);
    buf_free(&e->data);
}

static void unlink_entry(struct coll_table *t, struct entry *e)
{
    HASH_DEL(t->entries, e);
    t->bytes -= buf_len(&e->data);
}

void coll_destroy(struct coll_table *t)
{
    if (t == NULL)
        return;
    struct entry *e, *next;
    HASH_ITER (hh, t->entries, e, next) {
        HASH_DEL(t->entries, e);
        entry_free(e);
    }
    for (size_t i = 0; i < t->nlost; i++) {
        free(t->lost[i].nspace);
        free(t->lost[i].why);
    }
    free(t->lost);
    free(t);
}

size_t coll_open(const struct coll_table *t)
{
    return HASH_COUNT(t->entries);
}

void coll_key(struct buf *out, const Muster__Coll *c)
{
    buf_append(out, &c->kind, sizeof c->kind);
    buf_append(out, &c->index, sizeof c->index);
    buf_append(out, c->name, strlen(c->name) + 1);
    for (size_t i = 0; i < c->n_procs; i++) {
        buf_append(out, c->procs[i]->nspace, strlen(c->procs[i]->nspace) + 1);
        buf_append(out, &c->procs[i]->rank, sizeof c->procs[i]->rank);
    }
}

// ---- results ----------------------------------------------------------------

static Muster__Coll *copy_coll(const Muster__Coll *c)
{
    BUF_AUTO body = BUF_INIT;
    struct frame f = {.kind = FRAME_COLL};
    msg_pack(&f, &body, &c->base);
    return msg_unpack(&f, &muster__coll__descriptor, NULL);
}

static Muster__Coll result_of(const struct entry *e)
{
    Muster__Coll r = *e->head;
    r.status = e->status;
    if (e->why != NULL)
        r.why = e->why;
    r.data.len = e->status == 0 ? buf_len(&e->data) : 0;
    r.data.data = r.data.len > 0 ? buf_data(&e->data) : NULL;
    return r;
}

static void set_failure(struct entry *e, int32_t status, const char *why)
{
    if (e->status != 0)
        return;
    e->status = status;
    e->why = xstrdup(why);
}

// All parts are in: the entry leaves the table before the caller hears of it.
static void complete(struct coll_table *t, struct entry *e)
{
    unlink_entry(t, e);
    Muster__Coll r = result_of(e);
    t->ops->done(t->arg, &r);
    entry_free(e);
}

// Fails while parts are missing: the entry stays for them.
static void fail_early(struct coll_table *t, struct entry *e, int32_t status,
                       const char *why)
{
    set_failure(e, status, why);
    drop_data(t, e);
    e->failed = true;
    if (e->nmissing == 0) {
        complete(t, e);
        return;
    }
    Muster__Coll r = result_of(e);
    Muster__Coll *copy = copy_coll(&r); // the callback may lead to the end of the entry
    t->ops->done(t->arg, copy);
    msg_free(copy);
}

// ---- lost ranks -------------------------------------------------------------

static bool is_rank(const struct lost_rank *l, const char *nspace, uint32_t rank)
{
    return l->rank == rank && strcmp(l->nspace, nspace) == 0;
}

static bool covers(const struct lost_rank *l, const Muster__Proc *p)
{
    return is_rank(l, p->nspace, p->rank == COLL_RANK_ALL ? l->rank : p->rank);
}

static bool concerns(const struct lost_rank *l, const Muster__Coll *c)
{
    for (size_t i = 0; i < c->n_procs; i++)
        if (covers(l, c->procs[i]))
            return true;
    return false;
}

static const struct lost_rank *find_lost(const struct coll_table *t,
                                         const Muster__Coll *c)
{
    for (size_t i = 0; i < t->nlost; i++)
        if (concerns(&t->lost[i], c))
            return &t->lost[i];
    return NULL;
}

// Callbacks may change the table, so the search starts anew after each.
static struct entry *find_doomed(const struct coll_table *t, const struct lost_rank *l)
{
    for (struct entry *e = t->entries; e != NULL; e = e->hh.next)
        if (!e->failed && concerns(l, e->head))
            return e;
    return NULL;
}

void coll_fail_rank(struct coll_table *t, const char *nspace, uint32_t rank,
                    int32_t status, const char *why)
{
    size_t i = 0;
    while (i < t->nlost && !is_rank(&t->lost[i], nspace, rank))
        i++;
    if (i < t->nlost)
        return;
    t->lost = xrealloc(t->lost, t->nlost + 1, sizeof *t->lost);
    t->lost[t->nlost++] = (struct lost_rank){
        .nspace = xstrdup(nspace), .rank = rank, .status = status, .why = xstrdup(why)};
    struct entry *e;
    while ((e = find_doomed(t, &t->lost[i])) != NULL)
        fail_early(t, e, status, why);
}

// ---- parts ------------------------------------------------------------------

static struct entry *find(const struct coll_table *t, const Muster__Coll *c)
{
    BUF_AUTO key = BUF_INIT;
    coll_key(&key, c);
    struct entry *e = NULL;
    HASH_FIND(hh, t->entries, buf_data(&key), buf_len(&key), e);
    return e;
}

// A copy of what names the collective, without data and texts.
static Muster__Coll *copy_head(const Muster__Coll *c)
{
    Muster__Coll head;
    muster__coll__init(&head);
    head.kind = c->kind;
    head.n_procs = c->n_procs;
    head.procs = c->procs;
    head.index = c->index;
    head.name = c->name;
    return copy_coll(&head);
}

static struct entry *entry_new(struct coll_table *t, const Muster__Coll *c,
                               struct err *err)
{
    if (coll_open(t) >= t->limits.open) {
        err_set(err, "more than %zu collectives are open at a time", t->limits.open);
        return NULL;
    }
    CLEANUP_FREE bool *missing = xcalloc(t->contributors, sizeof *missing);
    if (t->ops->expect(t->arg, c, missing, err) < 0)
        return NULL;
    struct entry *e = xcalloc(1, sizeof *e);
    e->missing = STEAL(missing);
    for (size_t i = 0; i < t->contributors; i++)
        e->nmissing += e->missing[i] ? 1 : 0;
    e->head = copy_head(c);
    coll_key(&e->key, c);
    return e;
}

static int check_size(const struct coll_table *t, const struct entry *e,
                      const Muster__Coll *part, struct err *err)
{
    size_t whole = buf_len(&e->key) + buf_len(&e->data) + part->data.len + FRAME_SPARE;
    if (whole > FRAME_BODY_MAX) {
        err_set(err, "a collective gathers more than the %d MiB that a frame may hold",
                FRAME_BODY_MAX >> 20);
        return -1;
    }
    if (t->bytes + part->data.len > t->limits.bytes) {
        err_set(err, "open collectives hold more than %zu bytes", t->limits.bytes);
        return -1;
    }
    return 0;
}

static int check_part(const struct coll_table *t, const struct entry *e, size_t from,
                      const Muster__Coll *part, struct err *err)
{
    if (from >= t->contributors || !e->missing[from]) {
        err_set(
            err,
            "contributor %zu has no part, or gave it already, in collective %" PRIu64
            " of kind %" PRIu32 " over %zu processes",
            from, part->index, part->kind, part->n_procs);
        return -1;
    }
    return e->failed || part->status != 0 ? 0 : check_size(t, e, part, err);
}

static void take_late(struct coll_table *t, struct entry *e, size_t from)
{
    Muster__Coll r = result_of(e);
    Muster__Coll *copy = copy_coll(&r);
    if (e->nmissing == 0) {
        unlink_entry(t, e);
        entry_free(e);
    }
    t->ops->late(t->arg, from, copy);
    msg_free(copy);
}

static void take(struct coll_table *t, struct entry *e, size_t from,
                 const Muster__Coll *part)
{
    e->missing[from] = false;
    e->nmissing--;
    if (e->failed) {
        take_late(t, e, from);
        return;
    }
    if (part->status != 0) {
        set_failure(e, part->status, part->why);
        drop_data(t, e);
    } else if (e->status == 0) {
        buf_append(&e->data, part->data.data, part->data.len);
        t->bytes += part->data.len;
    }
    const struct lost_rank *l = find_lost(t, e->head);
    if (l != NULL)
        fail_early(t, e, l->status, l->why);
    else if (e->nmissing == 0)
        complete(t, e);
}

int coll_add(struct coll_table *t, size_t from, const Muster__Coll *part,
             struct err *err)
{
    struct entry *e = find(t, part);
    bool is_new = e == NULL;
    if (is_new && (e = entry_new(t, part, err)) == NULL)
        return -1;
    if (check_part(t, e, from, part, err) < 0) {
        if (is_new)
            entry_free(e);
        return -1;
    }
    if (is_new)
        HASH_ADD_KEYPTR(hh, t->entries, buf_data(&e->key), buf_len(&e->key), e);
    take(t, e, from, part);
    return 0;
}

void coll_close(struct coll_table *t, const Muster__Coll *result)
{
    struct entry *e = find(t, result);
    if (e == NULL)
        return;
    if (result->status == 0) {
        unlink_entry(t, e);
        entry_free(e);
        return;
    }
    set_failure(e, result->status, result->why);
    drop_data(t, e);
    e->failed = true;
}
