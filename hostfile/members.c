// Member lists.
#include "hostfile/members.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"

#define uthash_fatal(msg) abort()
#include <uthash.h>

// ---- the index by name --------------------------------------------------------

struct members_name {
    UT_hash_handle hh;
    size_t i;
    char lower[];
};

static struct members_name *index_entry(const char *name, size_t len, size_t i)
{
    struct members_name *e = xmalloc(sizeof *e + len + 1);
    e->i = i;
    for (size_t k = 0; k < len; k++)
        e->lower[k] = (char)tolower((unsigned char)name[k]);
    e->lower[len] = '\0';
    return e;
}

static struct members_name *index_get(struct members_name *index, const char *lower,
                                      size_t len)
{
    struct members_name *found = NULL;
    HASH_FIND(hh, index, lower, len, found);
    return found;
}

static void index_add(struct members *m, const char *name, size_t len, size_t i)
{
    struct members_name *e = index_entry(name, len, i);
    if (index_get(m->index, e->lower, len) != NULL) {
        free(e);
        return;
    }
    HASH_ADD_KEYPTR(hh, m->index, e->lower, len, e);
}

static void index_free(struct members *m)
{
    struct members_name *e = m->index, *next;
    HASH_CLEAR(hh, m->index);
    for (; e != NULL; e = next) {
        next = e->hh.next;
        free(e);
    }
    m->index = NULL;
}

static void index_rebuild(struct members *m)
{
    index_free(m);
    for (size_t i = 0; i < m->n; i++)
        index_add(m, m->v[i].name, strlen(m->v[i].name), i);
}

// ---- the list -----------------------------------------------------------------

static void member_free(struct member *one)
{
    free(one->name);
    free(one->user);
    free(one->why);
}

struct member *members_add(struct members *m, const char *name, size_t len)
{
    if (m->n == m->cap) {
        m->cap = m->cap > 0 ? m->cap * 2 : 16;
        m->v = xrealloc(m->v, m->cap, sizeof *m->v);
    }
    index_add(m, name, len, m->n);
    struct member *one = &m->v[m->n++];
    *one = (struct member){.slots = -1, .max_slots = -1, .port = -1};
    one->name = xstrndup(name, len);
    return one;
}

long members_find(const struct members *m, const char *name, size_t len)
{
    CLEANUP_FREE struct members_name *key = index_entry(name, len, 0);
    const struct members_name *found = index_get(m->index, key->lower, len);
    return found != NULL ? (long)found->i : -1;
}

void members_rename(struct members *m, size_t i, const char *name)
{
    free(m->v[i].name);
    m->v[i].name = xstrdup(name);
    index_rebuild(m);
}

void members_keep(struct members *m, const bool *keep)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (keep[i])
            m->v[n++] = m->v[i];
        else
            member_free(&m->v[i]);
    }
    m->n = n;
    index_rebuild(m);
}

void members_copy(struct members *to, const struct members *from)
{
    members_free(to);
    for (size_t i = 0; i < from->n; i++) {
        const struct member *f = &from->v[i];
        struct member *t = members_add(to, f->name, strlen(f->name));
        char *name = t->name;
        *t = *f;
        t->name = name;
        t->user = f->user != NULL ? xstrdup(f->user) : NULL;
        t->why = f->why != NULL ? xstrdup(f->why) : NULL;
    }
    strv_add_all(&to->warnings, from->warnings.v, from->warnings.n);
}

void members_move(struct members *to, struct members *from)
{
    members_free(to);
    *to = *from;
    *from = (struct members)MEMBERS_INIT;
}

void members_free(struct members *m)
{
    for (size_t i = 0; i < m->n; i++)
        member_free(&m->v[i]);
    free(m->v);
    strv_free(&m->warnings);
    index_free(m);
    *m = (struct members)MEMBERS_INIT;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool members_equal(const struct members *a, const struct members *b)
{
    if (a->n != b->n || a->warnings.n != b->warnings.n)
        return false;
    for (size_t i = 0; i < a->warnings.n; i++)
        if (strcmp(a->warnings.v[i], b->warnings.v[i]) != 0)
            return false;
    for (size_t i = 0; i < a->n; i++) {
        const struct member *x = &a->v[i], *y = &b->v[i];
        char at_x[INET6_ADDRSTRLEN], at_y[INET6_ADDRSTRLEN];
        members_address(x, at_x, sizeof at_x);
        members_address(y, at_y, sizeof at_y);
        if (strcmp(x->name, y->name) != 0 || strcmp(at_x, at_y) != 0 ||
            x->absolute != y->absolute || x->slots != y->slots ||
            x->max_slots != y->max_slots || x->port != y->port ||
            !same_text(x->user, y->user) || !same_text(x->why, y->why))
            return false;
    }
    return true;
}

void members_address(const struct member *m, char *out, size_t size)
{
    out[0] = '\0';
    if (m->addr.ss_family == AF_INET) {
        const struct sockaddr_in *a = (const void *)&m->addr;
        inet_ntop(AF_INET, &a->sin_addr, out, (socklen_t)size);
    } else if (m->addr.ss_family == AF_INET6) {
        const struct sockaddr_in6 *a = (const void *)&m->addr;
        inet_ntop(AF_INET6, &a->sin6_addr, out, (socklen_t)size);
    }
}

socklen_t members_sockaddr(const struct member *m, struct sockaddr_storage *out)
{
    uint16_t port = htons((uint16_t)(m->port > 0 ? m->port : MEMBERS_DEFAULT_PORT));
    *out = m->addr;
    if (m->addr.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)(void *)out)->sin6_port = port;
        return sizeof(struct sockaddr_in6);
    }
    ((struct sockaddr_in *)(void *)out)->sin_port = port;
    return sizeof(struct sockaddr_in);
}
