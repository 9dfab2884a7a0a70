// An index over /etc/hosts.
#include "hostfile/etchosts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/hosts_block.h"
#include "hostfile/slurp.h"

#define uthash_fatal(msg) abort()
#include <uthash.h>

struct entry {
    UT_hash_handle hh;
    struct sockaddr_storage addr;
    char name[]; // in lower case
};

struct etchosts {
    struct entry *entries;
};

static const char blanks[] = " \t\r";

static void lower(char *s)
{
    for (; *s != '\0'; s++)
        *s = (char)tolower((unsigned char)*s);
}

static struct entry *find(struct entry *entries, const char *name)
{
    struct entry *e = NULL;
    HASH_FIND(hh, entries, name, strlen(name), e);
    return e;
}

static int rank(const struct sockaddr_storage *addr)
{
    return (hostname_is_loopback(addr) ? 2 : 0) + (addr->ss_family == AF_INET6 ? 1 : 0);
}

static void take_name(struct etchosts *h, char *name,
                      const struct sockaddr_storage *addr)
{
    lower(name);
    struct entry *e = find(h->entries, name);
    if (e != NULL) {
        if (rank(addr) < rank(&e->addr))
            e->addr = *addr;
        return;
    }
    size_t len = strlen(name);
    e = xmalloc(sizeof *e + len + 1);
    e->addr = *addr;
    memcpy(e->name, name, len + 1);
    HASH_ADD_KEYPTR(hh, h->entries, e->name, len, e);
}

static void take_line(struct etchosts *h, char *line)
{
    struct sockaddr_storage addr;
    line[strcspn(line, "#")] = '\0';
    char *rest, *word = strtok_r(line, blanks, &rest);
    if (word == NULL || !hostname_literal(word, strlen(word), &addr))
        return;
    while ((word = strtok_r(NULL, blanks, &rest)) != NULL)
        take_name(h, word, &addr);
}

struct etchosts *etchosts_parse(const char *text, size_t len)
{
    struct etchosts *h = xcalloc(1, sizeof *h);
    CLEANUP_FREE char *others = hosts_block_others(text, len);
    char *rest, *line = strtok_r(others, "\n", &rest);
    for (; line != NULL; line = strtok_r(NULL, "\n", &rest))
        take_line(h, line);
    return h;
}

struct etchosts *etchosts_load(const char *path)
{
    BUF_AUTO text = BUF_INIT;
    if (slurp(path, &text, NULL) < 0)
        return etchosts_parse("", 0);
    return etchosts_parse((const char *)buf_data(&text), buf_len(&text));
}

void etchosts_destroy(struct etchosts *h)
{
    if (h == NULL)
        return;
    struct entry *e = h->entries, *next;
    HASH_CLEAR(hh, h->entries);
    for (; e != NULL; e = next) {
        next = e->hh.next;
        free(e);
    }
    free(h);
}

const struct sockaddr_storage *etchosts_find(const struct etchosts *h, const char *name)
{
    CLEANUP_FREE char *key = xstrdup(name);
    lower(key);
    const struct entry *e = find(h->entries, key);
    return e != NULL ? &e->addr : NULL;
}
