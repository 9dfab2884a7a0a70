// Fixed lists of names: asked in rounds until each has an address.
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/addrset.h"
#include "hostfile/source_impl.h"

struct item {
    struct source_list *list;
    size_t i;       // of the member
    unsigned round; // in which its address came; 0: a literal of the source
    bool ask;       // in the next round
};

struct source_list {
    struct source_env *env;
    struct resolver *resolver;
    enum names_kind kind;
    struct members members;
    struct item *items;
    struct event *timer;
    struct source_pace pace;
    uint64_t due; // of the timer, 0: not armed
    unsigned round;
    size_t pending; // questions of this round without an answer, and one while asking
    bool failed;    // nothing more comes
};

// ---- answers --------------------------------------------------------------------

static bool same_address(const struct sockaddr_storage *a,
                         const struct sockaddr_storage *b)
{
    return addrset_compare(a, b) == 0;
}

// Of several addresses the one held is avoided: a member is asked again because the pod
// there was lost, and the old pod may be listed beside the new one for a while.
static const struct sockaddr_storage *choose(const struct resolver_result *r,
                                             const struct member *m)
{
    for (size_t i = 0; i < r->n; i++)
        if (!same_address(&r->addr[i], &m->addr))
            return &r->addr[i];
    return &r->addr[0];
}

static void set_why(struct member *m, const char *why)
{
    free(m->why);
    m->why = why != NULL ? xstrdup(why) : NULL;
}

static void finish_round(struct source_list *l);

static void on_result(void *arg, const struct resolver_result *r)
{
    struct item *item = arg;
    struct source_list *l = item->list;
    struct member *m = &l->members.v[item->i];
    if (r->n > 0) {
        m->addr = *choose(r, m);
        set_why(m, NULL);
        item->round = l->round;
        item->ask = false;
    } else if (r->gone || m->addr.ss_family == 0) {
        m->addr = (struct sockaddr_storage){0};
        set_why(m, r->why);
    }
    if (--l->pending == 0)
        finish_round(l);
}

// ---- two members, one address -----------------------------------------------------

static char *describe(const struct member *m)
{
    return m->line > 0 ? xasprintf("%s (line %u)", m->name, m->line) : xstrdup(m->name);
}

static void fail_twins(struct source_list *l, const struct member *a,
                       const struct member *b)
{
    ERR_AUTO err = ERR_INIT;
    char at[INET6_ADDRSTRLEN];
    members_address(a, at, sizeof at);
    CLEANUP_FREE char *first = describe(a);
    CLEANUP_FREE char *second = describe(b);
    err_set_kind(&err, "HF_DUP_ADDRESS", 0,
                 "%s: HF_DUP_ADDRESS: %s and %s are one host, %s: keep one of them",
                 l->env->what, first, second, at);
    l->failed = true;
    loop_timer_disarm(l->timer);
    l->env->ops.failed(l->env->arg, &err); // may destroy us
}

// An address that came in an earlier round may be another pod's by now: it is asked for
// again. False when the two are one host beyond doubt.
static bool make_room(struct source_list *l, size_t a, size_t b)
{
    if (l->items[a].round == l->items[b].round)
        return false;
    size_t older = l->items[a].round < l->items[b].round ? a : b;
    size_t newer = older == a ? b : a;
    if (l->items[older].round == 0)
        return false;
    struct member *m = &l->members.v[older];
    char at[INET6_ADDRSTRLEN];
    members_address(m, at, sizeof at);
    m->addr = (struct sockaddr_storage){0};
    CLEANUP_FREE char *why =
        xasprintf("its address %s is that of %s now", at, l->members.v[newer].name);
    set_why(m, why);
    l->items[older].ask = true;
    return true;
}

// False after failed() was called.
static bool check_twins(struct source_list *l)
{
    struct addrset *seen = addrset_create();
    bool ok = true;
    for (size_t i = 0; ok && i < l->members.n; i++) {
        const struct member *m = &l->members.v[i];
        if (m->addr.ss_family == 0)
            continue;
        size_t twin = addrset_add(seen, &m->addr, m->port, i);
        if (twin == i || make_room(l, twin, i))
            continue;
        ok = false;
        fail_twins(l, &l->members.v[twin], m);
    }
    addrset_destroy(seen);
    return ok;
}

// ---- rounds -----------------------------------------------------------------------

// A round that is near is not put off by who asks for one again and again.
static void arm_sooner(struct source_list *l, uint64_t wait)
{
    uint64_t due = loop_now_ms() + wait;
    if (l->due != 0 && l->due <= due)
        return;
    l->due = due;
    loop_timer_arm(l->timer, wait);
}

// A member that the newest round left without an address, or could not ask again.
static const char *trouble_of(const struct source_list *l)
{
    for (size_t i = 0; i < l->members.n; i++)
        if (l->members.v[i].why != NULL)
            return l->members.v[i].why;
    return NULL;
}

static void finish_round(struct source_list *l)
{
    size_t missing = 0;
    if (!check_twins(l))
        return;
    for (size_t i = 0; i < l->members.n; i++) {
        l->items[i].ask = l->items[i].ask || l->members.v[i].addr.ss_family == 0;
        missing += l->items[i].ask ? 1 : 0;
    }
    if (l->env->reported && !members_equal(&l->env->last, &l->members))
        l->pace.step = 0;
    if (missing > 0) {
        uint64_t wait = source_pace_next(&l->pace, missing);
        log_debug(l->env->log,
                  "%s: %zu of %zu members have no address; asking again in "
                  "%llu ms",
                  l->env->what, missing, l->members.n, (unsigned long long)wait);
        arm_sooner(l, wait);
    }
    source_trouble(l->env, trouble_of(l));
    source_report(l->env, &l->members);
}

static void on_round(int fd, short what, void *arg)
{
    struct source_list *l = arg;
    l->due = 0;
    l->round++;
    l->env->rounds++;
    resolver_reload_hosts(l->resolver);
    l->pending = 1; // held while asking: answers may come at once
    for (size_t i = 0; i < l->members.n; i++) {
        const struct member *m = &l->members.v[i];
        if (!l->items[i].ask)
            continue;
        l->pending++;
        resolver_ask(l->resolver, m->name, m->absolute, l->kind, on_result,
                     &l->items[i]);
    }
    if (--l->pending == 0)
        finish_round(l);
}

const struct dns_stats *source_list_dns(const struct source_list *l)
{
    return resolver_dns(l->resolver);
}

void source_list_recheck(struct source_list *l)
{
    for (size_t i = 0; i < l->members.n; i++)
        l->items[i].ask = l->items[i].ask || l->items[i].round > 0;
    l->pace.step = 0;
    if (l->pending == 0 && !l->failed)
        arm_sooner(l, source_pace_next(&l->pace, l->members.n));
}

struct source_list *source_list_create(struct source_env *env, struct members *members,
                                       enum names_kind kind,
                                       const struct resolver_config *config,
                                       struct err *err)
{
    struct source_list *l = xcalloc(1, sizeof *l);
    l->env = env;
    l->kind = kind;
    l->timer = loop_timer(env->base, on_round, l);
    members_move(&l->members, members);
    l->items = xcalloc(l->members.n + 1, sizeof *l->items);
    for (size_t i = 0; i < l->members.n; i++)
        l->items[i] = (struct item){
            .list = l, .i = i, .ask = l->members.v[i].addr.ss_family == 0};
    l->resolver = resolver_create(env->base, config, err);
    if (l->resolver == NULL) {
        source_list_destroy(l);
        return NULL;
    }
    loop_timer_arm(l->timer, 0);
    return l;
}

void source_list_destroy(struct source_list *l)
{
    if (l == NULL)
        return;
    resolver_destroy(l->resolver);
    loop_timer_free(l->timer);
    members_free(&l->members);
    free(l->items);
    free(l);
}
