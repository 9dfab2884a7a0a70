// The pods of a headless Service: its addresses, named by their PTR records.
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/addrset.h"
#include "hostfile/natural.h"
#include "hostfile/source_impl.h"

enum {
    POLL_MIN_MS = 1000, // between the TTL's bounds here
    POLL_MAX_MS = 5000,
    GONE_ROUNDS = 3, // wrong NXDOMAINs happen: so many in a row count
};

// One address of the Service.
struct peer {
    struct source_service *service;
    struct sockaddr_storage addr;
    char *head;     // "train-0", NULL: not named (yet)
    bool settled;   // DNS has said what it knows of its name
    unsigned since; // round in which it came
    bool listed;    // in the newest answer
};

struct source_service {
    struct source_env *env;
    struct resolver *resolver;
    char *name; // as the user wrote it, without final dot
    bool absolute;
    int slots;
    struct peer **peers; // pointers stay: questions refer to them
    size_t npeers;
    struct event *timer;
    struct source_pace pace;
    unsigned round, gone; // gone: rounds in a row without the name
    char *why;            // of the newest round, NULL: it has addresses
    uint32_t ttl;
    size_t pending;
};

static void peer_free(struct peer *p)
{
    free(p->head);
    free(p);
}

// ---- what is known, as members ----------------------------------------------------

static char *name_of(const struct peer *p)
{
    struct member m = {.addr = p->addr};
    char at[INET6_ADDRSTRLEN];
    if (p->head != NULL)
        return xasprintf("%s.%s", p->head, p->service->name);
    members_address(&m, at, sizeof at);
    return xstrdup(at);
}

struct named {
    char *name; // owned
    const struct peer *peer;
};

// By name; of one name the newest address first.
static int by_name(const void *x, const void *y)
{
    const struct named *a = x, *b = y;
    int order = natural_compare(a->name, b->name);
    if (order == 0 && a->peer->since != b->peer->since)
        order = a->peer->since > b->peer->since ? -1 : 1;
    return order != 0 ? order : addrset_compare(&a->peer->addr, &b->peer->addr);
}

static void add_member(struct members *to, const struct named *one, int slots)
{
    if (members_find(to, one->name, strlen(one->name)) >= 0)
        return; // a pod and its replacement: the newer one is there
    struct member *m = members_add(to, one->name, strlen(one->name));
    m->addr = one->peer->addr;
    m->slots = slots;
}

static void build(const struct source_service *s, struct members *to)
{
    CLEANUP_FREE struct named *all = xcalloc(s->npeers + 1, sizeof *all);
    for (size_t i = 0; i < s->npeers; i++)
        all[i] = (struct named){name_of(s->peers[i]), s->peers[i]};
    qsort(all, s->npeers, sizeof *all, by_name);
    for (size_t i = 0; i < s->npeers; i++) {
        add_member(to, &all[i], s->slots);
        free(all[i].name);
    }
    if (s->why != NULL)
        strv_addf(&to->warnings, "%s: %s", s->env->what, s->why);
}

// ---- rounds -----------------------------------------------------------------------

static void finish_round(struct source_service *s)
{
    MEMBERS_AUTO now = MEMBERS_INIT;
    build(s, &now);
    uint64_t wait, poll = (uint64_t)s->ttl * 1000;
    if (s->npeers == 0 || s->why != NULL) {
        wait = source_pace_next(&s->pace, 1);
    } else {
        poll = poll < POLL_MIN_MS   ? POLL_MIN_MS
               : poll > POLL_MAX_MS ? POLL_MAX_MS
                                    : poll;
        wait = source_jitter(poll * 3 / 4, poll);
        s->pace.step = 0;
    }
    loop_timer_arm(s->timer, wait);
    source_trouble(s->env, s->why);
    source_report(s->env, &now);
}

static void on_name(void *arg, const char *head, bool sure)
{
    struct peer *p = arg;
    struct source_service *s = p->service;
    p->head = head != NULL ? xstrdup(head) : NULL;
    p->settled = sure || head != NULL;
    if (--s->pending == 0)
        finish_round(s);
}

static struct peer *find_peer(const struct source_service *s,
                              const struct sockaddr_storage *addr)
{
    size_t lo = 0, hi = s->npeers;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = addrset_compare(addr, &s->peers[mid]->addr);
        if (order == 0)
            return s->peers[mid];
        *(order < 0 ? &hi : &lo) = order < 0 ? mid : mid + 1;
    }
    return NULL;
}

static struct peer *new_peer(struct source_service *s,
                             const struct sockaddr_storage *addr)
{
    struct peer *p = xcalloc(1, sizeof *p);
    p->service = s;
    p->addr = *addr;
    p->since = s->round;
    return p;
}

// The answer is ordered by address, and so are the peers.
static void take_addresses(struct source_service *s, const struct resolver_result *r)
{
    struct peer **now = xcalloc(r->n + 1, sizeof *now);
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (n > 0 && addrset_compare(&now[n - 1]->addr, &r->addr[i]) == 0)
            continue;
        struct peer *p = find_peer(s, &r->addr[i]);
        now[n] = p != NULL ? p : new_peer(s, &r->addr[i]);
        now[n++]->listed = true;
    }
    for (size_t i = 0; i < s->npeers; i++)
        if (!s->peers[i]->listed)
            peer_free(s->peers[i]);
    free(s->peers);
    s->peers = now;
    s->npeers = n;
    for (size_t i = 0; i < n; i++)
        now[i]->listed = false;
}

static void ask_names(struct source_service *s, const char *absolute)
{
    for (size_t i = 0; i < s->npeers; i++) {
        struct peer *p = s->peers[i];
        if (p->settled)
            continue;
        if (absolute == NULL) { // from /etc/hosts: there is no name to be had
            p->settled = true;
            continue;
        }
        s->pending++;
        resolver_reverse(s->resolver, &p->addr, absolute, on_name, p);
    }
}

static void on_addresses(void *arg, const struct resolver_result *r)
{
    struct source_service *s = arg;
    free(s->why);
    s->why = r->n == 0 ? xstrdup(r->why) : NULL;
    s->gone = r->n == 0 && r->gone ? s->gone + 1 : 0;
    s->ttl = r->ttl;
    if (r->n > 0 || s->gone >= GONE_ROUNDS)
        take_addresses(s, r);
    if (r->n > 0)
        ask_names(s, r->asked);
    if (--s->pending == 0)
        finish_round(s);
}

static void on_round(int fd, short what, void *arg)
{
    struct source_service *s = arg;
    s->round++;
    s->env->rounds++;
    s->pending = 1;
    resolver_reload_hosts(s->resolver);
    resolver_ask(s->resolver, s->name, s->absolute, NAMES_SERVICE, on_addresses, s);
}

// ---- life -------------------------------------------------------------------------

const struct dns_stats *source_service_dns(const struct source_service *s)
{
    return resolver_dns(s->resolver);
}

void source_service_recheck(struct source_service *s)
{
    s->pace.step = 0;
    if (s->pending == 0)
        loop_timer_arm(s->timer, source_pace_next(&s->pace, 1));
}

struct source_service *source_service_create(struct source_env *env,
                                             const char *service, int slots,
                                             const struct resolver_config *config,
                                             struct err *err)
{
    struct source_service *s = xcalloc(1, sizeof *s);
    size_t len = strlen(service);
    s->env = env;
    s->absolute = service[len - 1] == '.';
    s->name = xstrndup(service, s->absolute ? len - 1 : len);
    s->slots = slots;
    s->timer = loop_timer(env->base, on_round, s);
    s->resolver = resolver_create(env->base, config, err);
    if (s->resolver != NULL && resolver_has_dns(s->resolver)) {
        loop_timer_arm(s->timer, 0);
        return s;
    }
    if (s->resolver != NULL)
        err_set(err,
                "%s: there is no nameserver in %s: run in a pod with DNS, or name the "
                "members with --host or --hostfile",
                env->what,
                config->resolv_conf != NULL ? config->resolv_conf : "/etc/resolv.conf");
    source_service_destroy(s);
    return NULL;
}

void source_service_destroy(struct source_service *s)
{
    if (s == NULL)
        return;
    resolver_destroy(s->resolver);
    loop_timer_free(s->timer);
    for (size_t i = 0; i < s->npeers; i++)
        peer_free(s->peers[i]);
    free(s->peers);
    free(s->name);
    free(s->why);
    free(s);
}
