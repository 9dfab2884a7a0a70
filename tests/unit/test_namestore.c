// Publish, lookup and unpublish, without any wire.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "wire/namestore.h"

enum { ANSWERS = 8 };

struct got {
    uint32_t vertex;
    uint64_t id;
    uint32_t status;
    size_t items;
    char key[32], value[32]; // of the first item
    uint32_t owner;
};

struct bed {
    struct namestore *store;
    struct got got[ANSWERS];
    size_t n;
};

static void copy(char *to, const void *from, size_t len)
{
    cr_assert_lt(len, 32);
    memcpy(to, from, len);
    to[len] = '\0';
}

static void on_done(void *arg, uint32_t vertex, const Muster__NamesDone *m)
{
    struct bed *b = arg;
    cr_assert_lt(b->n, ANSWERS);
    struct got *g = &b->got[b->n++];
    *g = (struct got){vertex, m->id, m->status, m->n_items, "", "", 0};
    if (m->n_items == 0)
        return;
    copy(g->key, m->items[0]->key, strlen(m->items[0]->key));
    copy(g->value, m->items[0]->value.data, m->items[0]->value.len);
    g->owner = m->items[0]->owner->rank;
}

static void start(struct bed *b, const struct namestore_limits *limits)
{
    *b = (struct bed){0};
    b->store = namestore_create(limits, on_done, b);
}

// One request over up to two keys; the values are the keys in brackets.
struct ask {
    uint32_t op, vertex, rank, range, persistence, wait;
    const char *nspace, *key, *second;
    uint64_t id;
};

static bool ask(struct bed *b, const struct ask *a)
{
    Muster__Names m = MUSTER__NAMES__INIT;
    Muster__Proc proc = MUSTER__PROC__INIT;
    Muster__NamesItem items[2], *list[2] = {&items[0], &items[1]};
    CLEANUP_FREE char *nspace = xstrdup(a->nspace != NULL ? a->nspace : "job");
    char *keys[2] = {NULL, NULL};
    const char *names[] = {a->key, a->second};
    char values[2][32];
    for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
        muster__names_item__init(&items[i]);
        keys[i] = xstrdup(names[i]);
        items[i].key = keys[i];
        items[i].value.len =
            (size_t)snprintf(values[i], sizeof values[i], "[%s]", keys[i]);
        items[i].value.data = (uint8_t *)values[i];
        m.n_items++;
    }
    proc.nspace = nspace;
    proc.rank = a->rank;
    m.id = a->id;
    m.op = a->op;
    m.proc = &proc;
    m.range = a->range;
    m.persistence = a->persistence;
    m.wait = a->wait;
    m.items = list;
    bool waits = namestore_request(b->store, a->vertex, &m);
    free(keys[0]);
    free(keys[1]);
    return waits;
}

static uint32_t publish(struct bed *b, struct ask a)
{
    a.op = NAMESTORE_PUBLISH;
    cr_assert(!ask(b, &a));
    return b->got[b->n - 1].status;
}

static const struct got *lookup(struct bed *b, struct ask a)
{
    a.op = NAMESTORE_LOOKUP;
    cr_assert(!ask(b, &a));
    return &b->got[b->n - 1];
}

Test(namestore, what_is_published_is_found_with_its_owner, .timeout = 10)
{
    struct bed b;
    start(&b, NULL);
    cr_assert_eq(publish(&b, (struct ask){.key = "a", .rank = 3, .id = 7}),
                 NAMESTORE_OK);
    const struct got *g = lookup(&b, (struct ask){.key = "a", .vertex = 2, .id = 9});
    cr_assert_eq(g->status, NAMESTORE_OK);
    cr_assert_eq(g->vertex, 2);
    cr_assert_eq(g->id, 9);
    cr_assert_str_eq(g->key, "a");
    cr_assert_str_eq(g->value, "[a]");
    cr_assert_eq(g->owner, 3);
    cr_assert_eq(lookup(&b, (struct ask){.key = "b"})->status, NAMESTORE_NOT_FOUND);
    g = lookup(&b, (struct ask){.key = "b", .second = "a"});
    cr_assert_eq(g->status, NAMESTORE_PARTIAL);
    cr_assert_eq(g->items, 1);
    namestore_destroy(b.store);
}

Test(namestore, a_key_stands_once_among_those_who_see_it, .timeout = 10)
{
    struct bed b;
    start(&b, NULL);
    struct ask one = {.key = "a", .rank = 1, .vertex = 1, .range = NAMESTORE_PROC};
    cr_assert_eq(publish(&b, one), NAMESTORE_OK);
    one.rank = 2;
    cr_assert_eq(publish(&b, one), NAMESTORE_OK); // another's own
    cr_assert_eq(publish(&b, one), NAMESTORE_DUPLICATE);
    one.range = NAMESTORE_ALL;
    one.rank = 3;
    cr_assert_eq(publish(&b, one), NAMESTORE_DUPLICATE); // rank 1 would see two
    cr_assert_eq(publish(&b, (struct ask){.key = "b", .second = "b"}),
                 NAMESTORE_DUPLICATE);
    cr_assert_eq(namestore_items(b.store), 2); // all of a request or nothing
    namestore_destroy(b.store);
}

Test(namestore, ranges, .timeout = 10)
{
    struct bed b;
    start(&b, NULL);
    publish(&b, (struct ask){.key = "node", .vertex = 1, .range = NAMESTORE_NODE});
    publish(&b, (struct ask){.key = "ns", .vertex = 1, .range = NAMESTORE_NSPACE});
    struct ask near = {.key = "node", .rank = 5, .vertex = 1};
    struct ask far = {.key = "node", .rank = 5, .vertex = 2};
    cr_assert_eq(lookup(&b, near)->status, NAMESTORE_OK);
    cr_assert_eq(lookup(&b, far)->status, NAMESTORE_NOT_FOUND);
    near.key = far.key = "ns";
    near.nspace = "other";
    cr_assert_eq(lookup(&b, near)->status, NAMESTORE_NOT_FOUND);
    cr_assert_eq(lookup(&b, far)->status, NAMESTORE_OK);
    namestore_destroy(b.store);
}

Test(namestore, a_lookup_waits_for_enough_keys, .timeout = 10)
{
    struct bed b;
    start(&b, NULL);
    struct ask both = {
        .op = NAMESTORE_LOOKUP, .key = "a", .second = "b", .wait = UINT32_MAX, .id = 1};
    struct ask any = both;
    any.wait = 1;
    any.id = 2;
    cr_assert(ask(&b, &both));
    cr_assert(ask(&b, &any));
    publish(&b, (struct ask){.key = "b", .id = 3});
    cr_assert_eq(b.n, 2); // of the publish, and of who wanted any
    cr_assert_eq(b.got[1].id, 2);
    cr_assert_eq(b.got[1].status, NAMESTORE_PARTIAL);
    publish(&b, (struct ask){.key = "a", .id = 4});
    cr_assert_eq(b.n, 4);
    cr_assert_eq(b.got[3].id, 1);
    cr_assert_eq(b.got[3].status, NAMESTORE_OK);
    cr_assert_eq(namestore_waiting(b.store), 0);
    namestore_destroy(b.store);
}

Test(namestore, a_wait_that_is_over_is_answered_once, .timeout = 10)
{
    struct bed b;
    start(&b, NULL);
    struct ask a = {
        .op = NAMESTORE_LOOKUP, .key = "a", .wait = 1, .vertex = 4, .id = 1};
    cr_assert(ask(&b, &a));
    namestore_expire(b.store, 3, 1); // another's
    cr_assert_eq(b.n, 0);
    namestore_expire(b.store, 4, 1);
    cr_assert_eq(b.n, 1);
    cr_assert_eq(b.got[0].status, NAMESTORE_TIMEOUT);
    namestore_expire(b.store, 4, 1);
    publish(&b, (struct ask){.key = "a"});
    cr_assert_eq(b.n, 2);
    namestore_destroy(b.store);
}

Test(namestore, the_first_reader_takes_it, .timeout = 10)
{
    struct bed b;
    start(&b, NULL);
    struct ask a = {.op = NAMESTORE_LOOKUP, .key = "a", .wait = 1, .id = 1};
    ask(&b, &a);
    a.id = 2;
    ask(&b, &a);
    publish(&b, (struct ask){.key = "a", .persistence = NAMESTORE_FIRST_READ, .id = 3});
    cr_assert_eq(b.n, 2);
    cr_assert_eq(b.got[1].id, 1);
    cr_assert_eq(namestore_items(b.store), 0);
    cr_assert_eq(namestore_waiting(b.store), 1);
    namestore_destroy(b.store);
}

Test(namestore, only_the_publisher_takes_back, .timeout = 10)
{
    struct bed b;
    start(&b, NULL);
    publish(&b, (struct ask){.key = "a", .second = "b", .rank = 1});
    struct ask back = {.op = NAMESTORE_UNPUBLISH, .key = "a", .rank = 2};
    ask(&b, &back);
    cr_assert_eq(b.got[b.n - 1].status, NAMESTORE_NOT_FOUND);
    back.rank = 1;
    ask(&b, &back);
    cr_assert_eq(b.got[b.n - 1].status, NAMESTORE_OK);
    cr_assert_eq(namestore_items(b.store), 1);
    back.key = NULL; // all
    ask(&b, &back);
    cr_assert_eq(b.got[b.n - 1].status, NAMESTORE_OK);
    cr_assert_eq(namestore_items(b.store), 0);
    namestore_destroy(b.store);
}

Test(namestore, a_process_that_ends_takes_its_own_along, .timeout = 10)
{
    struct bed b;
    start(&b, NULL);
    publish(&b,
            (struct ask){.key = "a", .rank = 1, .persistence = NAMESTORE_WITH_PROC});
    publish(&b, (struct ask){.key = "b", .rank = 1});
    struct ask waits = {.op = NAMESTORE_LOOKUP, .key = "c", .rank = 1, .wait = 1};
    ask(&b, &waits);
    namestore_proc_gone(b.store, "job", 2);
    cr_assert_eq(namestore_items(b.store), 2);
    namestore_proc_gone(b.store, "job", 1);
    cr_assert_eq(namestore_items(b.store), 1);
    cr_assert_eq(namestore_waiting(b.store), 0);
    namestore_destroy(b.store);
}

Test(namestore, bounds_and_nonsense_are_answered, .timeout = 10)
{
    struct bed b;
    struct namestore_limits limits = {.bytes = 300, .waiting = 1};
    start(&b, &limits);
    uint32_t status = NAMESTORE_OK;
    for (int i = 0; i < 5 && status == NAMESTORE_OK; i++) {
        char key[] = {(char)('a' + i), '\0'};
        status = publish(&b, (struct ask){.key = key});
    }
    cr_assert_eq(status, NAMESTORE_FULL);
    struct ask waits = {.op = NAMESTORE_LOOKUP, .key = "z", .wait = 1};
    cr_assert(ask(&b, &waits));
    cr_assert(!ask(&b, &waits));
    cr_assert_eq(b.got[b.n - 1].status, NAMESTORE_FULL);
    b.n = 0;
    struct ask bad[] = {{.op = 9, .key = "a"},
                        {.op = NAMESTORE_LOOKUP},
                        {.op = NAMESTORE_PUBLISH},
                        {.op = NAMESTORE_PUBLISH, .key = "q", .range = 17}};
    for (size_t i = 0; i < 4; i++) {
        cr_assert(!ask(&b, &bad[i]));
        cr_assert_eq(b.got[i].status, NAMESTORE_BAD);
    }
    namestore_destroy(b.store);
}
