// A hash of keys, and the bytes that wait for the next barrier.
#include "agent/pmi1_kvs.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "common/mem.h"

struct pair {
    UT_hash_handle hh;
    char *key, *value; // owned
};

struct pmi1_kvs {
    struct pair *pairs; // uthash
    struct buf fresh;   // put here, not yet taken
    size_t bytes, bytes_max;
};

struct pmi1_kvs *pmi1_kvs_create(size_t bytes_max)
{
    struct pmi1_kvs *kvs = xcalloc(1, sizeof *kvs);
    kvs->bytes_max = bytes_max;
    return kvs;
}

void pmi1_kvs_destroy(struct pmi1_kvs *kvs)
{
    if (kvs == NULL)
        return;
    struct pair *p, *next;
    HASH_ITER (hh, kvs->pairs, p, next) {
        HASH_DEL(kvs->pairs, p);
        free(p->key);
        free(p->value);
        free(p);
    }
    buf_free(&kvs->fresh);
    free(kvs);
}

static struct pair *find(const struct pmi1_kvs *kvs, const char *key)
{
    struct pair *p;
    HASH_FIND_STR(kvs->pairs, key, p);
    return p;
}

const char *pmi1_kvs_get(const struct pmi1_kvs *kvs, const char *key)
{
    const struct pair *p = find(kvs, key);
    return p != NULL ? p->value : NULL;
}

int pmi1_kvs_put_here(struct pmi1_kvs *kvs, const char *key, const char *value,
                      struct err *err)
{
    struct pair *p = find(kvs, key);
    size_t old = p != NULL ? strlen(p->value) : 0;
    size_t more = strlen(value) + (p != NULL ? 0 : strlen(key));
    if (kvs->bytes - old + more > kvs->bytes_max) {
        err_set(err, "the key-value space holds more than %zu bytes", kvs->bytes_max);
        return -1;
    }
    if (p == NULL) {
        p = xcalloc(1, sizeof *p);
        p->key = xstrdup(key);
        HASH_ADD_KEYPTR(hh, kvs->pairs, p->key, strlen(p->key), p);
    }
    free(p->value);
    p->value = xstrdup(value);
    kvs->bytes += more - old;
    return 0;
}

int pmi1_kvs_put(struct pmi1_kvs *kvs, const char *key, const char *value,
                 struct err *err)
{
    size_t more = strlen(key) + strlen(value) + 2;
    if (buf_len(&kvs->fresh) + more > kvs->bytes_max) {
        err_set(err, "more than %zu bytes were put without a barrier", kvs->bytes_max);
        return -1;
    }
    if (pmi1_kvs_put_here(kvs, key, value, err) < 0)
        return -1;
    buf_append(&kvs->fresh, key, strlen(key) + 1);
    buf_append(&kvs->fresh, value, strlen(value) + 1);
    return 0;
}

void pmi1_kvs_take_new(struct pmi1_kvs *kvs, struct buf *out)
{
    if (buf_len(&kvs->fresh) > 0)
        buf_append(out, buf_data(&kvs->fresh), buf_len(&kvs->fresh));
    buf_free(&kvs->fresh);
}

int pmi1_kvs_merge(struct pmi1_kvs *kvs, const void *data, size_t len, struct err *err)
{
    const char *at = data;
    while (len > 0) {
        size_t key = strnlen(at, len) + 1;
        size_t value = key < len ? strnlen(at + key, len - key) + 1 : 0;
        if (value == 0 || key + value > len || key == 1) {
            err_set(err, "key-value data that ends in the middle");
            return -1;
        }
        if (pmi1_kvs_put_here(kvs, at, at + key, err) < 0)
            return -1;
        at += key + value;
        len -= key + value;
    }
    return 0;
}
