// Services that several names hang on: asked in place of the names.
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "hostfile/source_list_impl.h"

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
        source_list_ask(&l->items[plan->ask[i]]);
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
    source_list_end_question(l);
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
    source_list_count(l, r);
    source_list_set_text(&h->why, r->n == 0 && !r->gone ? r->why : NULL);
    if (r->n > 0 && r->asked != NULL)
        kin_listed(h->kin, r->addr, r->n, &view, &plan);
    else if (r->gone || r->n > 0) // of a hosts file: no answer of DNS
        kin_gone(h->kin, &view, &plan);
    else if (!r->silent)
        kin_failed(h->kin, &view, &plan);
    ask_planned(l, &plan);
    ask_reverse(h, &plan);
    kin_plan_free(&plan);
    source_list_end_question(l);
}

static void ask_house(struct house *h, bool poll)
{
    struct source_list *l = h->list;
    h->quiet = kin_is_apart(h->kin);
    for (size_t i = 0; h->quiet && poll && i < kin_size(h->kin); i++)
        source_list_ask(&l->items[kin_member(h->kin, i)]);
    if (h->quiet)
        return;
    if (l->calm && ++h->turns % SOURCE_TURN == 0) {
        source_list_ask(&l->items[kin_turn(h->kin)]);
        return;
    }
    struct resolver_question q = {kin_service(h->kin), true, NAMES_SERVICE, l->family};
    l->pending++;
    resolver_ask(l->resolver, &q, on_service, h);
}

void source_list_ask_houses(struct source_list *l, bool poll)
{
    for (size_t i = 0; i < l->nhouses; i++)
        ask_house(&l->houses[i], poll);
}

void source_list_settle_houses(struct source_list *l)
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
                source_list_set_text(&item->why, h->why);
        }
    }
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

void source_list_make_houses(struct source_list *l)
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

void source_list_free_houses(struct source_list *l)
{
    for (size_t i = 0; i < l->nhouses; i++) {
        kin_destroy(l->houses[i].kin);
        free(l->houses[i].why);
    }
    free(l->houses);
}
