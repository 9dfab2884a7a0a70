// Addresses in a hash.
#include "hostfile/addrset.h"

#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

#define uthash_fatal(msg) abort()
#include <uthash.h>

struct key {
    uint8_t bytes[16]; // IPv4 as ::ffff:a.b.c.d; all zero: no address
    int32_t port;
};

struct entry {
    UT_hash_handle hh;
    struct key key;
    size_t who;
};

struct addrset {
    struct entry *entries;
};

struct addrset *addrset_create(void)
{
    return xcalloc(1, sizeof(struct addrset));
}

void addrset_destroy(struct addrset *s)
{
    if (s == NULL)
        return;
    struct entry *e = s->entries, *next;
    HASH_CLEAR(hh, s->entries);
    for (; e != NULL; e = next) {
        next = e->hh.next;
        free(e);
    }
    free(s);
}

static struct key key_of(const struct sockaddr_storage *addr, int port)
{
    struct key key = {.port = port};
    if (addr->ss_family == AF_INET) {
        const struct sockaddr_in *a = (const void *)addr;
        key.bytes[10] = key.bytes[11] = 0xFF;
        memcpy(key.bytes + 12, &a->sin_addr, 4);
    } else if (addr->ss_family == AF_INET6) {
        const struct sockaddr_in6 *a = (const void *)addr;
        memcpy(key.bytes, &a->sin6_addr, 16);
    }
    return key;
}

static struct entry *find(const struct addrset *s, const struct key *key)
{
    struct entry *e = NULL;
    HASH_FIND(hh, s->entries, key, sizeof *key, e);
    return e;
}

size_t addrset_find(const struct addrset *s, const struct sockaddr_storage *addr,
                    int port)
{
    struct key key = key_of(addr, port);
    const struct entry *e = find(s, &key);
    return e != NULL ? e->who : SIZE_MAX;
}

size_t addrset_add(struct addrset *s, const struct sockaddr_storage *addr, int port,
                   size_t who)
{
    struct key key = key_of(addr, port);
    struct entry *e = find(s, &key);
    if (e != NULL)
        return e->who;
    e = xcalloc(1, sizeof *e);
    e->key = key;
    e->who = who;
    HASH_ADD(hh, s->entries, key, sizeof e->key, e);
    return who;
}

int addrset_compare(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    struct key x = key_of(a, 0), y = key_of(b, 0);
    return memcmp(x.bytes, y.bytes, sizeof x.bytes);
}
