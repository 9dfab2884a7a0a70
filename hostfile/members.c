// Member lists.
#include "hostfile/members.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "hostfile/hostword.h"

// ---- the index by name: open addressing, at most half full -----------------------

struct members_slot {
    uint32_t hash;
    uint32_t i; // of the member, from 1; 0: free
};

enum { INDEX_MIN = 32 };

// Eight bytes at a time; the bit that tells cases apart is set in all.
static uint32_t hash_of(const char *name, size_t len)
{
    const uint64_t odd = 0x9E3779B97F4A7C15U, caseless = 0x2020202020202020U;
    uint64_t h = len, word;
    for (; len >= sizeof word; name += sizeof word, len -= sizeof word) {
        memcpy(&word, name, sizeof word);
        h = (h ^ (word | caseless)) * odd;
        h ^= h >> 29;
    }
    word = 0;
    memcpy(&word, name, len);
    h = (h ^ (word | caseless)) * odd;
    return (uint32_t)(h >> 32);
}

static bool is_named(const struct member *m, const char *name, size_t len)
{
    return strncasecmp(m->name, name, len) == 0 && m->name[len] == '\0';
}

// The slot that holds the name, or the free one where it belongs.
static struct members_slot *index_slot(const struct members *m, uint32_t hash,
                                       const char *name, size_t len)
{
    size_t mask = m->index_cap - 1, at = hash & mask;
    for (;; at = (at + 1) & mask) {
        struct members_slot *s = &m->index[at];
        if (s->i == 0 || (s->hash == hash && is_named(&m->v[s->i - 1], name, len)))
            return s;
    }
}

static void index_free(struct members *m)
{
    free(m->index);
    m->index = NULL;
    m->index_cap = 0;
}

static void index_grow(struct members *m)
{
    struct members_slot *old = m->index;
    size_t n = m->index_cap;
    m->index_cap = n > 0 ? n * 2 : INDEX_MIN;
    m->index = xcalloc(m->index_cap, sizeof *m->index);
    for (size_t k = 0; k < n; k++) {
        size_t at = old[k].hash & (m->index_cap - 1);
        while (old[k].i != 0 && m->index[at].i != 0)
            at = (at + 1) & (m->index_cap - 1);
        if (old[k].i != 0)
            m->index[at] = old[k];
    }
    free(old);
}

// Of several members of one name the first is kept.
static void index_add(struct members *m, size_t i)
{
    if (m->index_cap < 2 * (i + 1))
        index_grow(m);
    const char *name = m->v[i].name;
    size_t len = strlen(name);
    uint32_t hash = hash_of(name, len);
    struct members_slot *s = index_slot(m, hash, name, len);
    if (s->i == 0)
        *s = (struct members_slot){.hash = hash, .i = (uint32_t)i + 1};
}

static void index_rebuild(struct members *m)
{
    index_free(m);
    for (size_t i = 0; i < m->n; i++)
        index_add(m, i);
}

// ---- the pool of names: never moved, freed as a whole ------------------------------

enum { POOL_MIN = 1024, POOL_MAX = 1 << 20 };

struct members_pool {
    struct members_pool *next; // older, full
    size_t used, cap;
    char text[];
};

static char *pool_add(struct members *m, const char *name, size_t len)
{
    struct members_pool *p = m->pool;
    if (p == NULL || p->cap - p->used <= len) {
        size_t cap = p == NULL ? POOL_MIN : p->cap < POOL_MAX ? p->cap * 2 : POOL_MAX;
        cap = cap > len ? cap : len + 1;
        p = xmalloc(sizeof *p + cap);
        *p = (struct members_pool){.next = m->pool, .cap = cap};
        m->pool = p;
    }
    char *s = p->text + p->used;
    memcpy(s, name, len);
    s[len] = '\0';
    p->used += len + 1;
    return s;
}

static void pool_free(struct members *m)
{
    for (struct members_pool *p = m->pool, *next; p != NULL; p = next) {
        next = p->next;
        free(p);
    }
    m->pool = NULL;
}

// ---- the list -----------------------------------------------------------------

static void member_free(struct member *one)
{
    free(one->user);
    free(one->slot_ids);
    free(one->why);
}

static struct member *append(struct members *m, const char *name, size_t len)
{
    if (m->n == m->cap) {
        m->cap = m->cap > 0 ? m->cap * 2 : 16;
        m->v = xrealloc(m->v, m->cap, sizeof *m->v);
    }
    struct member *one = &m->v[m->n++];
    *one = (struct member){.slots = -1, .max_slots = -1, .port = -1};
    one->name = pool_add(m, name, len);
    return one;
}

struct member *members_add(struct members *m, const char *name, size_t len)
{
    struct member *one = append(m, name, len);
    index_add(m, m->n - 1);
    return one;
}

struct member *members_take(struct members *m, const char *name, size_t len,
                            bool *added)
{
    if (m->index_cap < 2 * (m->n + 1))
        index_grow(m);
    uint32_t hash = hash_of(name, len);
    struct members_slot *s = index_slot(m, hash, name, len);
    *added = s->i == 0;
    if (!*added)
        return &m->v[s->i - 1];
    *s = (struct members_slot){.hash = hash, .i = (uint32_t)m->n + 1};
    return append(m, name, len);
}

void members_expect(const struct members *m, const char *name, size_t len)
{
    if (m->index_cap > 0)
        __builtin_prefetch(&m->index[hash_of(name, len) & (m->index_cap - 1)], 1);
}

long members_find(const struct members *m, const char *name, size_t len)
{
    if (m->index_cap == 0)
        return -1;
    const struct members_slot *s = index_slot(m, hash_of(name, len), name, len);
    return s->i > 0 ? (long)s->i - 1 : -1;
}

void members_rename(struct members *m, const char *from, const char *to)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcasecmp(m->v[i].name, from) == 0)
            m->v[i].name = pool_add(m, to, strlen(to));
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

// ---- entries of one name ----------------------------------------------------------

static int worth(const struct member *m)
{
    return m->slots >= 0 ? m->slots : 1;
}

static int merge_into(struct member *to, struct member *from, const char *file,
                      struct err *err)
{
    bool users =
        from->user != NULL && to->user != NULL && strcmp(from->user, to->user) != 0;
    bool ports = from->port >= 0 && to->port >= 0 && from->port != to->port;
    if (users || ports) {
        err_set_kind(err, "HF_CONFLICT", 0,
                     "%s: HF_CONFLICT: %s is listed with two %s: keep one of them",
                     file, to->name, users ? "users" : "ports");
        return -1;
    }
    to->slots = worth(to) + worth(from);
    if (to->slots > HOSTWORD_SLOTS_MAX) {
        err_set_kind(err, "HF_BAD_COUNT", 0,
                     "%s: HF_BAD_COUNT: %s has more than %d slots in all", file,
                     to->name, HOSTWORD_SLOTS_MAX);
        return -1;
    }
    to->absolute = to->absolute || from->absolute;
    to->port = to->port >= 0 ? to->port : from->port;
    if (to->user == NULL)
        to->user = STEAL(from->user);
    return 0;
}

int members_merge(struct members *m, const char *file, struct err *err)
{
    CLEANUP_FREE bool *keep = xcalloc(m->n + 1, sizeof *keep);
    size_t again = 0, first = 0;
    for (size_t i = 0; i < m->n; i++) {
        size_t k = (size_t)members_find(m, m->v[i].name, strlen(m->v[i].name));
        keep[i] = k == i;
        if (k == i)
            continue;
        first = again++ == 0 ? k : first;
        if (merge_into(&m->v[k], &m->v[i], file, err) < 0)
            return -1;
    }
    if (again == 0)
        return 0;
    strv_addf(
        &m->warnings,
        "%s: %s is listed again (repeats in all: %zu): slots of one host are added "
        "up, and ranks fill one host after the other",
        file, m->v[first].name, again);
    members_keep(m, keep);
    return 0;
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
        t->slot_ids = f->slot_ids != NULL ? xstrdup(f->slot_ids) : NULL;
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
    pool_free(m);
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
            !same_text(x->user, y->user) || !same_text(x->slot_ids, y->slot_ids) ||
            !same_text(x->why, y->why))
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
