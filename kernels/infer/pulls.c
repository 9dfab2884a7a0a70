// A pull a slot on each rank, and on rank 0 a count of those that are not over.
#include "kernels/infer/pulls.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"

enum { TAG_PULLED = 110 }; // beside engine.c's

// How a rank's part ended; `why` is empty where it is there.
struct outcome {
    uint32_t slot;
    char why[252];
};

// This rank's part.
struct own {
    struct pulls *of;
    uint32_t slot;
    struct kvpull *pull; // NULL: none is under way
};

// Rank 0: the parts of all.
struct parts {
    bool begun;
    uint32_t left;
    char *why; // the first error
};

struct pulls {
    struct comm *world;
    struct event_base *base;
    const struct shard *shard;
    struct kvcache *kv;
    uint32_t slots;
    struct own *own;     // by slot
    struct parts *parts; // by slot
    uint32_t under_way;  // slots
    uint32_t *owed;      // by rank: outcomes that it has not told
};

struct pulls *pulls_create(struct comm *world, struct event_base *base,
                           const struct shard *shard, struct kvcache *kv,
                           uint32_t slots)
{
    struct pulls *p = xcalloc(1, sizeof *p);
    *p = (struct pulls){
        .world = world, .base = base, .shard = shard, .kv = kv, .slots = slots};
    p->own = xcalloc(slots, sizeof *p->own);
    p->parts = xcalloc(slots, sizeof *p->parts);
    p->owed = xcalloc((size_t)comm_size(world), sizeof *p->owed);
    for (uint32_t i = 0; i < slots; i++)
        p->own[i] = (struct own){.of = p, .slot = i};
    return p;
}

void pulls_destroy(struct pulls *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->slots; i++) {
        kvpull_destroy(p->own[i].pull);
        free(p->parts[i].why);
    }
    free(p->own);
    free(p->parts);
    free(p->owed);
    free(p);
}

// ---- outcomes ---------------------------------------------------------------------

static void count(struct pulls *p, const struct outcome *o)
{
    struct parts *parts = &p->parts[o->slot];
    parts->left--;
    if (parts->why == NULL && o->why[0] != '\0')
        parts->why = xstrdup(o->why);
}

static void receive(struct pulls *p, int rank)
{
    struct outcome o;
    comm_recv(p->world, &o, sizeof o, rank, TAG_PULLED);
    p->owed[rank]--;
    count(p, &o);
}

static void on_over(void *arg, const char *why)
{
    struct own *own = arg;
    struct pulls *p = own->of;
    struct outcome o = {.slot = own->slot};
    snprintf(o.why, sizeof o.why, "%s", why != NULL ? why : "");
    kvpull_destroy(own->pull);
    own->pull = NULL;
    if (comm_rank(p->world) == 0)
        count(p, &o);
    else
        comm_post(p->world, &o, sizeof o, 0, TAG_PULLED);
}

// ---- all of it --------------------------------------------------------------------

void pulls_begin(struct pulls *p, const struct kvpull_what *what)
{
    struct own *own = &p->own[what->slot];
    own->pull = kvpull_start(p->base, p->shard, p->kv, what, on_over, own);
    if (comm_rank(p->world) > 0)
        return;
    p->under_way++;
    p->parts[what->slot] =
        (struct parts){.begun = true, .left = (uint32_t)comm_size(p->world)};
    for (int rank = 1; rank < comm_size(p->world); rank++)
        p->owed[rank]++;
}

bool pulls_next(struct pulls *p, uint32_t *slot, struct err *err)
{
    if (p->under_way == 0)
        return false;
    for (int rank = 1; rank < comm_size(p->world); rank++)
        while (p->owed[rank] > 0 && comm_ready(p->world, rank, TAG_PULLED))
            receive(p, rank);
    for (uint32_t i = 0; i < p->slots; i++) {
        struct parts *parts = &p->parts[i];
        if (!parts->begun || parts->left > 0)
            continue;
        CLEANUP_FREE char *why = STEAL(parts->why);
        if (why != NULL)
            err_set(err, "%s", why);
        parts->begun = false;
        p->under_way--;
        *slot = i;
        return true;
    }
    return false;
}

static void give_up(struct own *own, const char *why)
{
    if (own->pull != NULL)
        on_over(own, why);
}

void pulls_drop(struct pulls *p, uint32_t slot)
{
    give_up(&p->own[slot], "nobody waits for it any more");
}

void pulls_end(struct pulls *p)
{
    for (uint32_t i = 0; i < p->slots; i++)
        give_up(&p->own[i], "the ranks end");
    for (int rank = 1; rank < comm_size(p->world); rank++)
        while (p->owed[rank] > 0)
            receive(p, rank);
}
