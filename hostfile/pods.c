// Pods by name.
#include "hostfile/pods.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/mem.h"
#include "hostfile/addrset.h"
#include "hostfile/belief.h"
#include "hostfile/natural.h"

enum { FAMILIES = 2, LISTED_MAX = 8 };

struct pod {
    char *name;
    struct belief belief[FAMILIES];
    bool there; // in the answer that is being taken
    bool lost;  // and not asked for since
};

struct pods {
    struct pod *v; // by name
    size_t n;
    enum pods_family family; // of the newest report
    size_t turn;             // who is next in pods_turn()
};

struct pods *pods_create(void)
{
    return xcalloc(1, sizeof(struct pods));
}

static void pod_free(struct pod *pod)
{
    for (int f = 0; f < FAMILIES; f++)
        belief_free(&pod->belief[f]);
    free(pod->name);
}

void pods_destroy(struct pods *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->n; i++)
        pod_free(&p->v[i]);
    free(p->v);
    free(p);
}

static bool has(const struct pod *pod, int family)
{
    return pod->belief[family].held.ss_family != 0;
}

// ---- an answer ----------------------------------------------------------------------

static int by_name(const void *x, const void *y)
{
    return strcasecmp(((const struct pod *)x)->name, ((const struct pod *)y)->name);
}

static int by_name_and_address(const void *x, const void *y)
{
    const struct pods_address *a = x, *b = y;
    int order = strcasecmp(a->name, b->name);
    return order != 0 ? order : addrset_compare(a->addr, b->addr);
}

// Among the first `n`.
static struct pod *find(const struct pods *p, const char *name, size_t n)
{
    struct pod key = {.name = (char *)(uintptr_t)name};
    return n > 0 ? bsearch(&key, p->v, n, sizeof *p->v, by_name) : NULL;
}

// Pods of the list that are not known yet; they are found by name afterwards.
static void add_new(struct pods *p, const struct pods_address *list, size_t n)
{
    size_t known = p->n;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && strcasecmp(list[i].name, list[i - 1].name) == 0)
            continue;
        if (find(p, list[i].name, known) != NULL)
            continue;
        p->v = xrealloc(p->v, p->n + 1, sizeof *p->v);
        p->v[p->n++] = (struct pod){.name = xstrdup(list[i].name)};
    }
    if (p->n > known)
        qsort(p->v, p->n, sizeof *p->v, by_name);
}

static void drop_gone(struct pods *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (has(&p->v[i], PODS_IPV4) || has(&p->v[i], PODS_IPV6))
            p->v[n++] = p->v[i];
        else
            pod_free(&p->v[i]);
    }
    p->n = n;
}

// The addresses list[0..] that have the first one's name; returns how many.
static size_t take_one(struct pods *p, enum pods_family family,
                       const struct pods_address *list, size_t n)
{
    enum { ADDRESSES_MAX = 16 };
    struct sockaddr_storage addr[ADDRESSES_MAX];
    struct pod *pod = find(p, list[0].name, p->n);
    size_t k = 0, kept = 0;
    for (; k < n && strcasecmp(list[k].name, list[0].name) == 0; k++)
        if (kept < ADDRESSES_MAX)
            addr[kept++] = *list[k].addr;
    if (pod != NULL) {
        belief_take(&pod->belief[family], addr, kept);
        pod->there = true;
    }
    return k;
}

void pods_take(struct pods *p, enum pods_family family, struct pods_address *list,
               size_t n)
{
    if (n > 0)
        qsort(list, n, sizeof *list, by_name_and_address);
    add_new(p, list, n);
    for (size_t i = 0; i < p->n; i++)
        p->v[i].there = false;
    for (size_t i = 0; i < n;)
        i += take_one(p, family, list + i, n - i);
    for (size_t i = 0; i < p->n; i++)
        if (!p->v[i].there)
            belief_miss(&p->v[i].belief[family]);
    drop_gone(p);
}

void pods_avoid(struct pods *p, const char *name)
{
    struct pod *pod = find(p, name, p->n);
    for (int f = 0; pod != NULL && f < FAMILIES; f++)
        belief_avoid(&pod->belief[f]);
    if (pod != NULL)
        pod->lost = true;
}

bool pods_doubt(const struct pods *p)
{
    for (size_t i = 0; i < p->n; i++)
        for (int f = 0; f < FAMILIES; f++)
            if (belief_doubts(&p->v[i].belief[f]))
                return true;
    return false;
}

const char *pods_missed(struct pods *p, size_t *at)
{
    while (*at < p->n) {
        struct pod *pod = &p->v[(*at)++];
        bool lost = pod->lost;
        pod->lost = false;
        if (lost || pod->belief[PODS_IPV4].misses > 0 ||
            pod->belief[PODS_IPV6].misses > 0)
            return pod->name;
    }
    return NULL;
}

const char *pods_turn(struct pods *p)
{
    p->turn = p->turn < p->n ? p->turn : 0;
    return p->n > 0 ? p->v[p->turn++].name : NULL;
}

// ---- as members ---------------------------------------------------------------------

static size_t count(const struct pods *p, int with, int without)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += has(&p->v[i], with) && !(without >= 0 && has(&p->v[i], without)) ? 1 : 0;
    return n;
}

static void list_only(const struct pods *p, int with, int without, struct buf *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (!has(&p->v[i], with) || has(&p->v[i], without))
            continue;
        if (++shown <= LISTED_MAX)
            buf_printf(out, "%s%s", shown > 1 ? ", " : "", p->v[i].name);
    }
    if (shown > LISTED_MAX)
        buf_printf(out, " and %zu more", shown - LISTED_MAX);
}

static void add_finding(const struct pods *p, const char *what, struct members *to)
{
    BUF_AUTO v4 = BUF_INIT, v6 = BUF_INIT;
    list_only(p, PODS_IPV4, PODS_IPV6, &v4);
    list_only(p, PODS_IPV6, PODS_IPV4, &v6);
    CLEANUP_FREE char *only4 = buf_steal_str(&v4);
    CLEANUP_FREE char *only6 = buf_steal_str(&v6);
    strv_addf(&to->warnings,
              "%s: FAMILY_MISMATCH: there is no address family that all pods have: "
              "IPv4 alone: %s; IPv6 alone: %s: those with IPv%c are taken",
              what, only4, only6, p->family == PODS_IPV4 ? '4' : '6');
}

static int in_natural_order(const void *x, const void *y)
{
    const struct pod *const *a = x, *const *b = y;
    return natural_compare((*a)->name, (*b)->name);
}

enum pods_family pods_members(struct pods *p, int slots, const char *what,
                              struct members *to)
{
    CLEANUP_FREE const struct pod **order = xcalloc(p->n + 1, sizeof *order);
    enum pods_family other = p->family == PODS_IPV4 ? PODS_IPV6 : PODS_IPV4;
    if (count(p, (int)other, -1) > count(p, (int)p->family, -1))
        p->family = other;
    for (size_t i = 0; i < p->n; i++)
        order[i] = &p->v[i];
    qsort(order, p->n, sizeof *order, in_natural_order);
    for (size_t i = 0; i < p->n; i++) {
        if (!has(order[i], (int)p->family))
            continue;
        struct member *m = members_add(to, order[i]->name, strlen(order[i]->name));
        m->addr = order[i]->belief[p->family].held;
        m->slots = slots;
    }
    if (count(p, PODS_IPV4, PODS_IPV6) > 0 && count(p, PODS_IPV6, PODS_IPV4) > 0)
        add_finding(p, what, to);
    return p->family;
}
