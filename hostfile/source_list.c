// Fixed names: asked in rounds until each has an address, and as long as they are followed.
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/source_list_impl.h"

struct item *source_list_item(const struct source_list *l, size_t member)
{
    return l->item_of[member] != SOURCE_LIST_NO_ITEM ? &l->items[l->item_of[member]]
                                                     : NULL;
}

void source_list_set_text(char **to, const char *text)
{
    char *copy = text != NULL ? xstrdup(text) : NULL;
    free(*to);
    *to = copy;
}

static void finish_round(struct source_list *l);

void source_list_count(struct source_list *l, const struct resolver_result *r)
{
    source_pace_count(&l->pace, r);
    if (r->n == 0 && l->trouble == NULL)
        source_list_set_text(&l->trouble, r->why);
}

void source_list_end_question(struct source_list *l)
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
    source_list_count(l, r);
    if (r->n > 0) {
        belief_take(b, r->addr, r->n);
        item->round = l->round;
        item->ask = false;
    } else if (r->gone) {
        belief_miss(b);
    }
    if (r->n == 0 && b->held.ss_family == 0)
        source_list_set_text(&item->why, r->why);
    source_list_end_question(l);
}

void source_list_ask(struct item *item)
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
        source_list_set_text(&m->why, there ? NULL : item->why);
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
    source_list_settle_houses(l);
    if (!source_list_check_claims(l))
        return;
    bool telling = is_telling(l);
    if (telling)
        publish(l);
    bool changed = l->env->reported && !members_equal(&l->env->last, &l->members);
    size_t open = choose_next(l);
    l->calm = open == 0;
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
    bool poll = l->env->poll_ms > 0 && l->poll_due <= loop_now_ms();
    l->due = 0;
    source_list_set_text(&l->trouble, NULL);
    l->round++;
    l->env->rounds++;
    source_pace_begin(&l->pace);
    resolver_reload_hosts(l->resolver);
    l->pending = 1; // held while asking: answers may come at once
    source_list_ask_houses(l, poll);
    for (size_t i = 0; i < l->nitems; i++)
        if (l->items[i].ask || (poll && l->items[i].house == NULL))
            source_list_ask(&l->items[i]);
    source_list_end_question(l);
}

const struct dns_stats *source_list_dns(const struct source_list *l)
{
    return resolver_dns(l->resolver);
}

void source_list_recheck(struct source_list *l, const char *lost)
{
    long member = members_find(&l->members, lost, strlen(lost));
    struct item *item = member >= 0 ? source_list_item(l, (size_t)member) : NULL;
    if (item != NULL) {
        belief_avoid(&item->belief);
        item->ask = true;
    }
    l->calm = false;
    l->pace.step = 0;
    if (l->pending == 0 && !l->failed && l->nitems > 0)
        arm_sooner(l, source_pace_retry(&l->pace));
}

// ---- life -------------------------------------------------------------------------

static void make_items(struct source_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->members.n; i++)
        n += l->members.v[i].addr.ss_family == 0 ? 1 : 0;
    l->items = xcalloc(n + 1, sizeof *l->items);
    l->item_of = xcalloc(l->members.n + 1, sizeof *l->item_of);
    for (size_t i = 0; i < l->members.n; i++) {
        l->item_of[i] = SOURCE_LIST_NO_ITEM;
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
        source_list_make_houses(l);
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
    source_list_free_houses(l);
    free(l->trouble);
    free(l->items);
    free(l->item_of);
    members_free(&l->members);
    free(l);
}
