// The key-value space of one job on one node. Pure.
//
// What local ranks put goes to the other nodes with the next barrier
// (pmi1_kvs_take_new), what theirs put comes in with its result (pmi1_kvs_merge).
// On the wire: key NUL value NUL ...
#ifndef MUSTER_AGENT_PMI1_KVS_H
#define MUSTER_AGENT_PMI1_KVS_H

#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

struct pmi1_kvs;

// Holds at most `bytes_max` of keys and values.
struct pmi1_kvs *pmi1_kvs_create(size_t bytes_max);
void pmi1_kvs_destroy(struct pmi1_kvs *kvs); // NULL-safe

// A later value takes the place of an earlier one.
int pmi1_kvs_put(struct pmi1_kvs *kvs, const char *key, const char *value,
                 struct err *err);
const char *pmi1_kvs_get(const struct pmi1_kvs *kvs, const char *key); // NULL: none
// For this node only.
int pmi1_kvs_put_here(struct pmi1_kvs *kvs, const char *key, const char *value,
                      struct err *err);

// Appends what was put since the last call.
void pmi1_kvs_take_new(struct pmi1_kvs *kvs, struct buf *out);
// On -1 (not in this form, too much) a part may have been taken.
int pmi1_kvs_merge(struct pmi1_kvs *kvs, const void *data, size_t len, struct err *err);

#endif
