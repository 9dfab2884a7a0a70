// Which names to ask after an answer of their Service.
#include "hostfile/kin.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "hostfile/addrset.h"
#include "hostfile/belief.h"

struct one {
    size_t member;
    char *head; // "train-3"
    bool asked; // in this round
};

struct kin {
    char *service;
    struct one *v;
    size_t n, cap;
    struct sockaddr_storage *seen; // what it lists, ordered
    size_t nseen;
    bool heard;     // there was an answer
    unsigned gone;  // answers in a row: no such Service
    size_t probe;   // where the next probes begin
    size_t turn;    // who is next in kin_turn()
    unsigned apart; // rounds until the Service is tried again, 0: the names are its own
};

// ---- life -------------------------------------------------------------------------

struct kin *kin_create(const char *service)
{
    struct kin *k = xcalloc(1, sizeof *k);
    k->service = xstrdup(service);
    return k;
}

void kin_destroy(struct kin *k)
{
    if (k == NULL)
        return;
    for (size_t i = 0; i < k->n; i++)
        free(k->v[i].head);
    free(k->v);
    free(k->seen);
    free(k->service);
    free(k);
}

const char *kin_service(const struct kin *k)
{
    return k->service;
}

void kin_add(struct kin *k, size_t member, const char *name)
{
    if (k->n == k->cap) {
        k->cap = k->cap > 0 ? 2 * k->cap : 16;
        k->v = xrealloc(k->v, k->cap, sizeof *k->v);
    }
    k->v[k->n++] =
        (struct one){.member = member, .head = xstrndup(name, strcspn(name, "."))};
}

size_t kin_size(const struct kin *k)
{
    return k->n;
}

size_t kin_member(const struct kin *k, size_t i)
{
    return k->v[i].member;
}

size_t kin_turn(struct kin *k)
{
    k->turn = k->turn < k->n ? k->turn : 0;
    return k->v[k->turn++].member;
}

void kin_plan_free(struct kin_plan *plan)
{
    free(plan->ask);
    free(plan->reverse);
    *plan = (struct kin_plan){0};
}

// ---- addresses --------------------------------------------------------------------

static int by_address(const void *x, const void *y)
{
    return addrset_compare(x, y);
}

static bool is_seen(const struct kin *k, const struct sockaddr_storage *addr)
{
    return k->nseen > 0 &&
           bsearch(addr, k->seen, k->nseen, sizeof *k->seen, by_address) != NULL;
}

static void set_seen(struct kin *k, const struct sockaddr_storage *addr, size_t n)
{
    free(k->seen);
    k->seen = xcalloc(n + 1, sizeof *k->seen);
    k->nseen = n;
    if (n > 0)
        memcpy(k->seen, addr, n * sizeof *addr);
    qsort(k->seen, n, sizeof *k->seen, by_address);
}

static const struct sockaddr_storage *held_by(const struct kin *k, size_t i,
                                              const struct kin_view *view)
{
    return view->held(view->arg, k->v[i].member);
}

// The addresses that were not listed before and are nobody's; the caller frees them.
static struct sockaddr_storage *find_fresh(const struct kin *k,
                                           const struct sockaddr_storage *addr,
                                           size_t n, const struct kin_view *view,
                                           size_t *nfresh)
{
    struct sockaddr_storage *fresh = xcalloc(n + 1, sizeof *fresh);
    struct addrset *held = addrset_create();
    *nfresh = 0;
    for (size_t i = 0; i < k->n; i++)
        if (held_by(k, i, view) != NULL)
            addrset_add(held, held_by(k, i, view), 0, 0);
    for (size_t i = 0; i < n; i++)
        if (!is_seen(k, &addr[i]) && addrset_add(held, &addr[i], 0, 1) == 1)
            fresh[(*nfresh)++] = addr[i];
    addrset_destroy(held);
    return fresh;
}

// ---- whom to ask ------------------------------------------------------------------

static void ask(struct kin *k, size_t i, struct kin_plan *plan)
{
    if (k->v[i].asked)
        return;
    k->v[i].asked = true;
    if (plan->ask == NULL)
        plan->ask = xcalloc(k->n, sizeof *plan->ask);
    plan->ask[plan->nask++] = k->v[i].member;
}

static void begin_round(struct kin *k)
{
    for (size_t i = 0; i < k->n; i++)
        k->v[i].asked = false;
}

// Members without an address; true when there was one.
static bool ask_missing(struct kin *k, const struct kin_view *view,
                        struct kin_plan *plan)
{
    bool any = false;
    for (size_t i = 0; i < k->n; i++) {
        if (held_by(k, i, view) != NULL)
            continue;
        ask(k, i, plan);
        any = true;
    }
    return any;
}

static void ask_all(struct kin *k, struct kin_plan *plan)
{
    for (size_t i = 0; i < k->n; i++)
        ask(k, i, plan);
}

// Some of those without an address, in turn.
static void ask_some(struct kin *k, const struct kin_view *view, struct kin_plan *plan)
{
    size_t asked = 0, from = k->probe;
    for (size_t i = 0; i < k->n && asked < KIN_PROBES; i++) {
        size_t at = (from + i) % k->n;
        if (held_by(k, at, view) != NULL)
            continue;
        ask(k, at, plan);
        k->probe = at + 1;
        asked++;
    }
}

// Members whose address is not listed.
static void ask_unlisted(struct kin *k, const struct kin_view *view,
                         struct kin_plan *plan)
{
    for (size_t i = 0; i < k->n; i++) {
        const struct sockaddr_storage *held = held_by(k, i, view);
        if (held != NULL && !is_seen(k, held))
            ask(k, i, plan);
    }
}

static size_t count_missing(const struct kin *k, const struct kin_view *view)
{
    size_t missing = 0;
    for (size_t i = 0; i < k->n; i++)
        missing += held_by(k, i, view) == NULL ? 1 : 0;
    return missing;
}

// Names are asked straight away where there are not many more of them than new addresses.
void kin_listed(struct kin *k, const struct sockaddr_storage *addr, size_t n,
                const struct kin_view *view, struct kin_plan *plan)
{
    size_t nfresh, missing = count_missing(k, view);
    bool first = !k->heard;
    struct sockaddr_storage *fresh = find_fresh(k, addr, n, view, &nfresh);
    begin_round(k);
    k->heard = true;
    k->gone = 0;
    set_seen(k, addr, n);
    ask_unlisted(k, view, plan);
    ask_some(k, view, plan);
    bool straight = missing > 0 && nfresh > 0 && 2 * nfresh >= missing;
    if (first || straight) {
        ask_missing(k, view, plan);
    } else if (nfresh > KIN_REVERSE_MAX) {
        if (!ask_missing(k, view, plan))
            ask_all(k, plan);
    } else if (nfresh > 0) {
        plan->reverse = fresh;
        plan->nreverse = nfresh;
        return;
    }
    free(fresh);
}

void kin_gone(struct kin *k, const struct kin_view *view, struct kin_plan *plan)
{
    bool first = !k->heard;
    begin_round(k);
    k->heard = true;
    k->gone++;
    if (first) {
        ask_missing(k, view, plan);
        return;
    }
    ask_some(k, view, plan);
    if (k->gone < BELIEF_DOUBTS)
        return;
    set_seen(k, NULL, 0);
    ask_unlisted(k, view, plan);
}

void kin_failed(struct kin *k, const struct kin_view *view, struct kin_plan *plan)
{
    begin_round(k);
    ask_some(k, view, plan);
}

void kin_named(struct kin *k, const char *head, const struct kin_view *view,
               struct kin_plan *plan)
{
    for (size_t i = 0; head != NULL && i < k->n; i++)
        if (strcasecmp(k->v[i].head, head) == 0)
            ask(k, i, plan);
    if (head == NULL && !ask_missing(k, view, plan))
        ask_all(k, plan);
}

// ---- are they its own? ------------------------------------------------------------

bool kin_settle(struct kin *k, const struct kin_view *view)
{
    bool was = k->apart > 0, outside = false;
    for (size_t i = 0; i < k->n; i++) {
        const struct sockaddr_storage *held = held_by(k, i, view);
        if (held != NULL && is_seen(k, held)) {
            k->apart = 0;
            return false;
        }
        outside = outside || view->confirmed(view->arg, k->v[i].member) != NULL;
    }
    if (outside && k->apart == 0)
        k->apart = KIN_APART_ROUNDS;
    return outside && !was;
}

bool kin_is_apart(struct kin *k)
{
    if (k->apart > 0)
        k->apart--;
    return k->apart > 0;
}
