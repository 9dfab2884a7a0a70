// Fixed names: asked in rounds until each has an address, and as long as they are followed.
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/belief.h"
#include "hostfile/claims.h"
#include "hostfile/kin.h"
#include "hostfile/source_impl.h"

// A member that is a name.
struct item {
    struct source_list *list;
    size_t i;            // of the member
    struct house *house; // whose Service it hangs on, NULL: none
    struct belief belief;
    char *why;      // it has no address
    unsigned round; // in which DNS confirmed its address
    bool ask;       // in the next round
    bool asking;    // in this one
    bool stands;    // its address was reported
    bool doubtful;  // another member has it, or it is of another family: not reported
};

// A Service behind several names.
struct house {
    struct source_list *list;
    struct kin *kin;
    char *why;  // its newest failure
    bool quiet; // it was not asked in this round
};

struct source_list {
    struct source_env *env;
    struct resolver *resolver;
    enum names_kind kind;
    enum resolver_family family;
    struct members members; // as they are reported
    struct item *items;     // of the members that are names
    size_t nitems;
    size_t *item_of; // of each member: index in items, or NO_ITEM
    struct house *houses;
    size_t nhouses;
    struct event *timer;
    struct source_pace pace;
    uint64_t due;      // of the timer, 0: not armed
    uint64_t poll_due; // of names that have an address
    unsigned round;
    unsigned unclear; // rounds in a row with twins, or with two families
    size_t pending;   // questions of this round without an answer, and one while asking
    char *trouble;    // of this round: the first answer without an address
    bool whole;       // every member had an address once, each its own
    bool failed;      // nothing more comes
};

#define NO_ITEM SIZE_MAX
enum { SLACK_MS = 20 }; // a timer may come so much early

static struct item *item_of(const struct source_list *l, size_t member)
{
    return l->item_of[member] != NO_ITEM ? &l->items[l->item_of[member]] : NULL;
}

static void set_text(char **to, const char *text)
{
    char *copy = text != NULL ? xstrdup(text) : NULL;
    free(*to);
    *to = copy;
}

static void finish_round(struct source_list *l);

static void count_answer(struct source_list *l, const struct resolver_result *r)
{
    source_pace_count(&l->pace, r);
    if (r->n == 0 && l->trouble == NULL)
        set_text(&l->trouble, r->why);
}

static void end_question(struct source_list *l)
{
    if (--l->pending == 0)
        finish_round(l);
}

// ---- names ------------------------------------------------------------------------

static void on_name(void *arg, const struct resolver_result *r)
{
    struct item *item = arg;
    struct source_list *l = item->list;
    struct belief *b = &item->belief;
    count_answer(l, r);
    if (r->n > 0) {
        belief_take(b, r->addr, r->n);
        item->round = l->round;
        item->ask = false;
    } else if (r->gone) {
        belief_miss(b);
    }
    if (r->n == 0 && b->held.ss_family == 0)
        set_text(&item->why, r->why);
    end_question(l);
}

static void ask_name(struct item *item)
{
    struct source_list *l = item->list;
    const struct member *m = &l->members.v[item->i];
    struct resolver_question q = {m->name, m->absolute, l->kind, l->family};
    if (item->asking)
        return;
    item->asking = true;
    l->pending++;
    resolver_ask(l->resolver, &q, on_name, item);
}

// ---- Services behind names ----------------------------------------------------------

static const struct sockaddr_storage *held(void *arg, size_t item)
{
    const struct source_list *l = arg;
    const struct belief *b = &l->items[item].belief;
    return b->held.ss_family != 0 ? &b->held : NULL;
}

static const struct sockaddr_storage *confirmed(void *arg, size_t item)
{
    const struct source_list *l = arg;
    return l->items[item].round == l->round ? held(arg, item) : NULL;
}

static struct kin_view view_of(struct source_list *l)
{
    return (struct kin_view){.held = held, .confirmed = confirmed, .arg = l};
}

static void ask_planned(struct source_list *l, const struct kin_plan *plan)
{
    for (size_t i = 0; i < plan->nask; i++)
        ask_name(&l->items[plan->ask[i]]);
}

// Names that are a new address's stay in question until they have one: a server may have
// denied them for a while.
static void on_reverse(void *arg, const char *head, bool sure)
{
    struct house *h = arg;
    struct source_list *l = h->list;
    struct kin_plan plan = {0};
    struct kin_view view = view_of(l);
    kin_named(h->kin, sure ? head : NULL, &view, &plan);
    for (size_t i = 0; i < plan.nask && head != NULL; i++)
        l->items[plan.ask[i]].ask = true;
    ask_planned(l, &plan);
    kin_plan_free(&plan);
    end_question(l);
}

static void ask_reverse(struct house *h, const struct kin_plan *plan)
{
    for (size_t i = 0; i < plan->nreverse; i++) {
        h->list->pending++;
        resolver_reverse(h->list->resolver, &plan->reverse[i], kin_service(h->kin),
                         on_reverse, h);
    }
}

static void on_service(void *arg, const struct resolver_result *r)
{
    struct house *h = arg;
    struct source_list *l = h->list;
    struct kin_plan plan = {0};
    struct kin_view view = view_of(l);
    count_answer(l, r);
    set_text(&h->why, r->n == 0 && !r->gone ? r->why : NULL);
    if (r->n > 0 && r->asked != NULL)
        kin_listed(h->kin, r->addr, r->n, &view, &plan);
    else if (r->gone || r->n > 0) // of a hosts file: no answer of DNS
        kin_gone(h->kin, &view, &plan);
    else if (!r->silent)
        kin_failed(h->kin, &view, &plan);
    ask_planned(l, &plan);
    ask_reverse(h, &plan);
    kin_plan_free(&plan);
    end_question(l);
}

static void ask_house(struct house *h, bool poll)
{
    struct source_list *l = h->list;
    h->quiet = kin_is_apart(h->kin);
    for (size_t i = 0; h->quiet && poll && i < kin_size(h->kin); i++)
        ask_name(&l->items[kin_member(h->kin, i)]);
    if (h->quiet)
        return;
    struct resolver_question q = {kin_service(h->kin), true, NAMES_SERVICE, l->family};
    l->pending++;
    resolver_ask(l->resolver, &q, on_service, h);
}

static void settle_houses(struct source_list *l)
{
    struct kin_view view = view_of(l);
    for (size_t i = 0; i < l->nhouses; i++) {
        struct house *h = &l->houses[i];
        if (kin_settle(h->kin, &view))
            log_debug(l->env->log,
                      "%s: %s does not list the addresses that its names have: each "
                      "name is asked",
                      l->env->what, kin_service(h->kin));
        for (size_t k = 0; h->why != NULL && k < kin_size(h->kin); k++) {
            struct item *item = &l->items[kin_member(h->kin, k)];
            if (!item->asking && item->belief.held.ss_family == 0)
                set_text(&item->why, h->why);
        }
    }
}

// ---- one address, one family --------------------------------------------------------

static struct claim *claims_of(const struct source_list *l)
{
    struct claim *c = xcalloc(l->members.n + 1, sizeof *c);
    for (size_t i = 0; i < l->members.n; i++) {
        const struct item *item = item_of(l, i);
        const struct member *m = &l->members.v[i];
        const struct sockaddr_storage *addr =
            item != NULL ? &item->belief.held : &m->addr;
        c[i] = (struct claim){.name = m->name,
                              .line = m->line,
                              .addr = addr->ss_family != 0 ? addr : NULL,
                              .port = m->port,
                              .stands = item == NULL || item->stands,
                              .fixed = item == NULL};
    }
    return c;
}

static void doubt(struct source_list *l, size_t member, char *why)
{
    struct item *item = item_of(l, member);
    if (item != NULL && why != NULL) {
        item->doubtful = true;
        set_text(&item->why, why);
    }
    if (item != NULL)
        item->ask = true;
    free(why);
}

// Who came last has to wait, and both are asked again. True: there are twins.
static bool doubt_twins(struct source_list *l, struct claim *c)
{
    long first = claims_find_twins(c, l->members.n);
    for (size_t i = 0; i < l->members.n; i++) {
        char at[INET6_ADDRSTRLEN];
        if (c[i].twin < 0)
            continue;
        members_address(&(struct member){.addr = *c[i].addr}, at, sizeof at);
        doubt(l, (size_t)c[i].twin, NULL);
        doubt(l, i, xasprintf("its address %s is that of %s", at, c[c[i].twin].name));
    }
    return first >= 0;
}

// Before the group was whole IPv6 is tried for all; later the family is fixed, and a
// member without it waits.
static void doubt_families(struct source_list *l, const struct claim *c,
                           struct claims_families *f)
{
    claims_count(c, l->members.n, f);
    if (!l->whole && f->n4 + f->n6 > 0)
        l->family = f->n6 > 0 ? RESOLVER_IPV6_FIRST : RESOLVER_IPV4_FIRST;
    if (f->n4 == 0 || f->n6 == 0)
        return;
    bool v6 = l->family == RESOLVER_IPV6_FIRST;
    for (size_t i = 0; i < l->members.n; i++)
        if (c[i].addr != NULL && (claims_family(c[i].addr) == AF_INET6) != v6)
            doubt(l, i,
                  xasprintf("FAMILY_MISMATCH: it has no IPv%c address, as others have",
                            v6 ? '6' : '4'));
}

// Pods of Services may be given one address by an old answer: that is waited for. All else
// is one host under two names, and so is one pod.
static bool is_one_host(const struct source_list *l, const struct claim *c, long who)
{
    const struct item *a = item_of(l, (size_t)who),
                      *b = item_of(l, (size_t)c[who].twin);
    if (a == NULL || b == NULL || a->house == NULL || b->house == NULL)
        return true;
    size_t head = strcspn(c[who].name, ".");
    const char *other = c[c[who].twin].name;
    return a->house == b->house && head == strcspn(other, ".") &&
           strncasecmp(c[who].name, other, head) == 0;
}

static bool find_error(const struct source_list *l, const struct claim *c,
                       const struct claims_families *f, struct err *err)
{
    bool late = l->unclear >= BELIEF_DOUBTS;
    bool mixed = f->n4 > 0 && f->n6 > 0 && (late || (f->fixed4 && f->fixed6));
    for (size_t i = 0; i < l->members.n; i++) {
        bool for_good = c[i].twin >= 0 && c[i].fixed && c[c[i].twin].fixed;
        if (c[i].twin < 0 || !(for_good || (late && is_one_host(l, c, (long)i))))
            continue;
        claims_twin_error(c, (long)i, l->env->what, err);
        return true;
    }
    if (mixed)
        claims_family_error(c, l->members.n, l->env->what, err);
    return mixed;
}

// Who has which address, and whether that can be. False after failed() was called, which
// may have destroyed us.
static bool check_claims(struct source_list *l)
{
    ERR_AUTO err = ERR_INIT;
    struct claims_families f;
    for (size_t i = 0; i < l->nitems; i++)
        l->items[i].doubtful = false;
    struct claim *c = claims_of(l);
    bool twins = doubt_twins(l, c);
    doubt_families(l, c, &f);
    l->unclear = twins || (f.n4 > 0 && f.n6 > 0) ? l->unclear + 1 : 0;
    l->failed = !l->whole && find_error(l, c, &f, &err);
    free(c);
    if (!l->failed)
        return true;
    l->env->ops.failed(l->env->arg, &err);
    return false;
}

// ---- rounds -----------------------------------------------------------------------

static const char *trouble_of(const struct source_list *l)
{
    for (size_t i = 0; l->trouble == NULL && i < l->nitems; i++)
        if (!l->items[i].stands)
            return l->items[i].why;
    return l->trouble;
}

static void publish(struct source_list *l)
{
    for (size_t i = 0; i < l->nitems; i++) {
        struct item *item = &l->items[i];
        struct member *m = &l->members.v[item->i];
        bool there = item->belief.held.ss_family != 0 && !item->doubtful;
        m->addr = there ? item->belief.held : (struct sockaddr_storage){0};
        set_text(&m->why, there ? NULL : item->why);
        item->stands = there;
    }
}

// A round that is near is not put off by who asks for one again and again.
static void arm_sooner(struct source_list *l, uint64_t wait)
{
    uint64_t due = loop_now_ms() + wait;
    if (l->due != 0 && l->due <= due)
        return;
    l->due = due;
    loop_timer_arm(l->timer, wait);
}

// Names without an address that no Service stands for, and all in doubt. Returns how many
// members are missing or in doubt.
static size_t choose_next(struct source_list *l)
{
    size_t open = 0;
    for (size_t i = 0; i < l->nitems; i++) {
        struct item *item = &l->items[i];
        bool missing = item->belief.held.ss_family == 0;
        if (belief_doubts(&item->belief) ||
            (missing && (item->house == NULL || item->house->quiet)))
            item->ask = true;
        item->asking = false;
        open += missing || item->ask ? 1 : 0;
    }
    return open;
}

static void arm_next(struct source_list *l, size_t open)
{
    bool polls = l->nhouses > 0 || (l->env->poll_ms > 0 && l->nitems > 0);
    if (open == 0 && !polls)
        return;
    uint64_t poll = source_pace_poll(&l->pace);
    uint64_t wait = open > 0 ? source_pace_retry(&l->pace) : poll;
    uint64_t now = loop_now_ms();
    if (l->poll_due <= now)
        l->poll_due = now + poll;
    if (open > 0)
        log_debug(l->env->log,
                  "%s: %zu of %zu members are missing or in doubt; asking again in "
                  "%llu ms",
                  l->env->what, open, l->members.n, (unsigned long long)wait);
    arm_sooner(l, wait);
}

// What is not clear yet is not told for some rounds.
static bool is_telling(const struct source_list *l)
{
    return l->whole || l->unclear == 0 || l->unclear >= BELIEF_DOUBTS;
}

static void finish_round(struct source_list *l)
{
    settle_houses(l);
    if (!check_claims(l))
        return;
    bool telling = is_telling(l);
    if (telling)
        publish(l);
    bool changed = l->env->reported && !members_equal(&l->env->last, &l->members);
    size_t open = choose_next(l);
    l->whole = l->whole || (telling && l->unclear == 0 && open == 0);
    l->pace.step = changed || open == 0 ? 0 : l->pace.step;
    arm_next(l, open);
    source_trouble(l->env, trouble_of(l));
    if (telling)
        source_report(l->env, &l->members);
}

static void on_round(int fd, short what, void *arg)
{
    struct source_list *l = arg;
    bool poll = l->env->poll_ms > 0 && l->poll_due <= loop_now_ms() + SLACK_MS;
    l->due = 0;
    set_text(&l->trouble, NULL);
    l->round++;
    l->env->rounds++;
    source_pace_begin(&l->pace);
    resolver_reload_hosts(l->resolver);
    l->pending = 1; // held while asking: answers may come at once
    for (size_t i = 0; i < l->nhouses; i++)
        ask_house(&l->houses[i], poll);
    for (size_t i = 0; i < l->nitems; i++)
        if (l->items[i].ask || (poll && l->items[i].house == NULL))
            ask_name(&l->items[i]);
    end_question(l);
}

const struct dns_stats *source_list_dns(const struct source_list *l)
{
    return resolver_dns(l->resolver);
}

void source_list_recheck(struct source_list *l)
{
    for (size_t i = 0; i < l->nitems; i++) {
        struct item *item = &l->items[i];
        bool has_choice = item->belief.npast > 0;
        belief_avoid(&item->belief);
        if (item->house == NULL || item->house->quiet || has_choice)
            item->ask = true;
    }
    l->pace.step = 0;
    if (l->pending == 0 && !l->failed && l->nitems > 0)
        arm_sooner(l, source_pace_retry(&l->pace));
}

// ---- life -------------------------------------------------------------------------

static struct house *house_of(struct source_list *l, const char *service)
{
    for (size_t i = 0; i < l->nhouses; i++)
        if (strcmp(kin_service(l->houses[i].kin), service) == 0)
            return &l->houses[i];
    l->houses = xrealloc(l->houses, l->nhouses + 1, sizeof *l->houses);
    l->houses[l->nhouses] = (struct house){.list = l, .kin = kin_create(service)};
    return &l->houses[l->nhouses++];
}

// A Service with one name of ours is no help: the name itself is as cheap.
static void drop_single(struct source_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->nhouses; i++) {
        if (kin_size(l->houses[i].kin) > 1)
            l->houses[n++] = l->houses[i];
        else
            kin_destroy(l->houses[i].kin);
    }
    l->nhouses = n;
}

static void make_houses(struct source_list *l)
{
    for (size_t i = 0; i < l->nitems; i++) {
        const struct member *m = &l->members.v[l->items[i].i];
        struct resolver_question q = {m->name, m->absolute, l->kind, l->family};
        CLEANUP_FREE char *service = resolver_service(l->resolver, &q);
        if (service != NULL)
            kin_add(house_of(l, service)->kin, i, m->name);
    }
    drop_single(l);
    for (size_t i = 0; i < l->nhouses; i++)
        for (size_t k = 0; k < kin_size(l->houses[i].kin); k++)
            l->items[kin_member(l->houses[i].kin, k)].house = &l->houses[i];
}

static void make_items(struct source_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->members.n; i++)
        n += l->members.v[i].addr.ss_family == 0 ? 1 : 0;
    l->items = xcalloc(n + 1, sizeof *l->items);
    l->item_of = xcalloc(l->members.n + 1, sizeof *l->item_of);
    for (size_t i = 0; i < l->members.n; i++) {
        l->item_of[i] = NO_ITEM;
        if (l->members.v[i].addr.ss_family != 0)
            continue;
        l->item_of[i] = l->nitems;
        l->items[l->nitems++] = (struct item){.list = l, .i = i};
    }
}

struct source_list *source_list_create(struct source_env *env, struct members *members,
                                       enum names_kind kind,
                                       const struct resolver_config *config,
                                       struct err *err)
{
    struct source_list *l = xcalloc(1, sizeof *l);
    l->env = env;
    l->kind = kind;
    l->pace.poll_ms = env->poll_ms;
    l->timer = loop_timer(env->base, on_round, l);
    members_move(&l->members, members);
    make_items(l);
    l->resolver = resolver_create(env->base, config, err);
    if (l->resolver == NULL) {
        source_list_destroy(l);
        return NULL;
    }
    if (resolver_has_dns(l->resolver))
        make_houses(l);
    for (size_t i = 0; i < l->nitems; i++)
        l->items[i].ask = l->items[i].house == NULL;
    loop_timer_arm(l->timer, 0);
    return l;
}

void source_list_destroy(struct source_list *l)
{
    if (l == NULL)
        return;
    resolver_destroy(l->resolver);
    loop_timer_free(l->timer);
    for (size_t i = 0; i < l->nitems; i++) {
        belief_free(&l->items[i].belief);
        free(l->items[i].why);
    }
    for (size_t i = 0; i < l->nhouses; i++) {
        kin_destroy(l->houses[i].kin);
        free(l->houses[i].why);
    }
    free(l->trouble);
    free(l->houses);
    free(l->items);
    free(l->item_of);
    members_free(&l->members);
    free(l);
}
