// What ranks publish for each other under names: the store of one attempt. Pure.
//
// It stands at the root of the tree, so that there is one answer to each question. A
// request is answered by done(), at once or (a lookup that waits) when enough of its keys
// are there. There are no clocks: the caller ends a wait by namestore_expire().
//
// Range says who sees an item, from publisher to asker; "node" compares the vertices from
// which they ask. One key stands once among those who see it. Whoever published an item
// may take it back, nobody else.
#ifndef MUSTER_WIRE_NAMESTORE_H
#define MUSTER_WIRE_NAMESTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/muster.pb-c.h"

struct namestore;

enum namestore_op {
    NAMESTORE_PUBLISH = 1, // all items, or none of them
    NAMESTORE_LOOKUP,      // keys; what is there comes back
    NAMESTORE_UNPUBLISH,   // keys; without any: all that the asker has published
};

enum namestore_range {
    NAMESTORE_ALL, // of the attempt
    NAMESTORE_NSPACE,
    NAMESTORE_NODE,
    NAMESTORE_PROC,
};

enum namestore_persistence {
    NAMESTORE_KEEP, // until it is taken back, or the attempt ends
    NAMESTORE_FIRST_READ,
    NAMESTORE_WITH_PROC, // until its publisher ends
};

enum namestore_status {
    NAMESTORE_OK,
    NAMESTORE_PARTIAL,   // lookup: some of the keys
    NAMESTORE_NOT_FOUND, // none of the keys
    NAMESTORE_DUPLICATE,
    NAMESTORE_TIMEOUT,
    NAMESTORE_FULL,
    NAMESTORE_BAD, // the request makes no sense
};

struct namestore_limits {
    size_t bytes;   // of all keys and values
    size_t waiting; // lookups at a time
};

// The answer for the request `done->id` of a vertex. Must not call the store.
typedef void (*namestore_done_fn)(void *arg, uint32_t vertex,
                                  const Muster__NamesDone *done);

// limits NULL: 64 MiB, 65,536 lookups.
struct namestore *namestore_create(const struct namestore_limits *limits,
                                   namestore_done_fn done, void *arg);
void namestore_destroy(struct namestore *s); // NULL-safe; answers nothing

// True: it waits, and is answered later.
bool namestore_request(struct namestore *s, uint32_t vertex, const Muster__Names *rq);
// The lookup has waited long enough; nothing happens when it was answered before.
void namestore_expire(struct namestore *s, uint32_t vertex, uint64_t id);
// A process has ended: what was to go with it goes, and its lookups are forgotten.
void namestore_proc_gone(struct namestore *s, const char *nspace, uint32_t rank);

// Items in the store, lookups that wait.
size_t namestore_items(const struct namestore *s);
size_t namestore_waiting(const struct namestore *s);

#endif
