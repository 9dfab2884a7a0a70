// The pods of a headless Service: its addresses, named by their PTR records.
//
// A round: the Service's addresses of one family; of the other one, too, when they have
// changed; then the names of addresses that are new, and those of pods that are missed.
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/addrset.h"
#include "hostfile/belief.h"
#include "hostfile/pods.h"
#include "hostfile/source_impl.h"

enum {
    FAMILIES = 2,
    MISSED_MAX = 16, // names of pods that are not listed any more, asked in a round
};

// One address of the Service, as long as it is listed, and for some answers more.
struct peer {
    struct source_service *service;
    struct sockaddr_storage addr;
    char *name;      // "train-0.train", or the address; NULL: not known
    bool literal;    // it is the address
    unsigned tries;  // rounds in which DNS failed to say it
    bool nameless;   // DNS says that it has none
    unsigned absent; // answers in a row that do not list it
};

struct side {            // of one family
    struct peer **peers; // by address; pointers stay: questions refer to them
    size_t npeers;
    bool answered; // in this round
};

struct source_service {
    struct source_env *env;
    struct resolver *resolver;
    char *name; // as the user wrote it, without final dot
    bool absolute;
    int slots;
    struct side sides[FAMILIES];
    struct pods *pods;
    enum pods_family family;
    bool any_named; // reverse lookups work here
    bool calm;      // nothing was missing or in doubt at the end of the newest round
    unsigned turns; // rounds while all is well
    struct event *timer;
    struct source_pace pace;
    char *absolute_name; // that has the addresses; NULL: not from DNS
    char *why;           // of the newest round, NULL: it has addresses
    char *nameless;      // an address that is left out, NULL: none is
    size_t pending;
};

static void peer_free(struct peer *p)
{
    free(p->name);
    free(p);
}

// ---- the end of a round -------------------------------------------------------------

// Whose the listed addresses are; those that have no name yet are left out.
static void take_side(struct source_service *s, enum pods_family family)
{
    struct side *side = &s->sides[family];
    CLEANUP_FREE struct pods_address *list = xcalloc(side->npeers + 1, sizeof *list);
    size_t n = 0;
    if (!side->answered)
        return;
    for (size_t i = 0; i < side->npeers; i++)
        if (side->peers[i]->absent == 0 && side->peers[i]->name != NULL)
            list[n++] =
                (struct pods_address){side->peers[i]->name, &side->peers[i]->addr};
    pods_take(s->pods, family, list, n);
}

static void name_by_address(struct peer *p)
{
    char at[INET6_ADDRSTRLEN];
    members_address(&(struct member){.addr = p->addr}, at, sizeof at);
    p->name = xstrdup(at);
    p->literal = true;
}

// Where no address has a name each is its own. Where others have one it is no member until
// it has, too: a lone NXDOMAIN may be wrong, and an old address has no name any more.
// Returns how many are left out.
static size_t settle_names(struct source_service *s, enum pods_family family)
{
    const struct side *side = &s->sides[family];
    size_t left_out = 0;
    for (size_t i = 0; i < side->npeers; i++) {
        struct peer *p = side->peers[i];
        if (p->name != NULL)
            continue;
        if (!s->any_named && (p->nameless || p->tries >= BELIEF_DOUBTS)) {
            name_by_address(p);
            continue;
        }
        left_out++;
        if (s->nameless == NULL && p->tries >= BELIEF_DOUBTS) {
            char at[INET6_ADDRSTRLEN];
            members_address(&(struct member){.addr = p->addr}, at, sizeof at);
            s->nameless = xasprintf("%s has no name in it: left out", at);
        }
    }
    return left_out;
}

static void finish_round(struct source_service *s)
{
    MEMBERS_AUTO now = MEMBERS_INIT;
    size_t left_out = settle_names(s, PODS_IPV4) + settle_names(s, PODS_IPV6);
    take_side(s, PODS_IPV4);
    take_side(s, PODS_IPV6);
    s->family = pods_members(s->pods, s->slots, s->env->what, &now);
    if (s->why != NULL && now.n == 0)
        strv_addf(&now.warnings, "%s: %s", s->env->what, s->why);
    bool open =
        s->why != NULL || now.warnings.n > 0 || left_out > 0 || pods_doubt(s->pods);
    s->calm = !open;
    if (!open || (s->env->reported && !members_equal(&s->env->last, &now)))
        s->pace.step = 0;
    loop_timer_arm(s->timer,
                   open ? source_pace_retry(&s->pace) : source_pace_poll(&s->pace));
    source_trouble(s->env, s->why != NULL ? s->why : s->nameless);
    source_report(s->env, &now);
}

static void end_question(struct source_service *s)
{
    if (--s->pending == 0)
        finish_round(s);
}

// ---- names --------------------------------------------------------------------------

static void on_name(void *arg, const char *head, bool sure)
{
    struct peer *p = arg;
    struct source_service *s = p->service;
    p->tries++;
    p->nameless = sure && head == NULL;
    if (head != NULL) {
        p->name = xasprintf("%s.%s", head, s->name);
        s->any_named = true;
    }
    end_question(s);
}

static void ask_names(struct source_service *s, struct side *side)
{
    for (size_t i = 0; i < side->npeers; i++) {
        struct peer *p = side->peers[i];
        if (p->literal && s->any_named) { // after all
            free(p->name);
            p->name = NULL;
            p->literal = false;
        }
        if (p->name != NULL)
            continue;
        if (s->absolute_name == NULL) { // from /etc/hosts: there is no name to be had
            name_by_address(p);
            continue;
        }
        s->pending++;
        resolver_reverse(s->resolver, &p->addr, s->absolute_name, on_name, p);
    }
}

// ---- addresses ----------------------------------------------------------------------

static struct peer *find_peer(const struct side *side,
                              const struct sockaddr_storage *addr)
{
    size_t lo = 0, hi = side->npeers;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = addrset_compare(addr, &side->peers[mid]->addr);
        if (order == 0)
            return side->peers[mid];
        *(order < 0 ? &hi : &lo) = order < 0 ? mid : mid + 1;
    }
    return NULL;
}

static int by_address(const void *x, const void *y)
{
    const struct peer *const *a = x, *const *b = y;
    return addrset_compare(&(*a)->addr, &(*b)->addr);
}

// True: there are new ones, or some have gone.
static bool take_addresses(struct source_service *s, struct side *side,
                           const struct resolver_result *r)
{
    struct peer **now = xcalloc(side->npeers + r->n + 1, sizeof *now);
    bool changed = false;
    size_t n = 0;
    for (size_t i = 0; i < side->npeers; i++)
        side->peers[i]->absent++;
    for (size_t i = 0; i < r->n; i++) {
        struct peer *p = find_peer(side, &r->addr[i]);
        if (p != NULL) {
            p->absent = 0;
        } else if (i == 0 || addrset_compare(&r->addr[i - 1], &r->addr[i]) != 0) {
            now[n] = xcalloc(1, sizeof *now[n]);
            *now[n++] = (struct peer){.service = s, .addr = r->addr[i]};
        }
    }
    changed = n > 0;
    for (size_t i = 0; i < side->npeers; i++) {
        changed = changed || side->peers[i]->absent == 1;
        if (side->peers[i]->absent < BELIEF_DOUBTS)
            now[n++] = side->peers[i];
        else
            peer_free(side->peers[i]);
    }
    qsort(now, n, sizeof *now, by_address);
    free(side->peers);
    side->peers = now;
    side->npeers = n;
    side->answered = true;
    return changed;
}

static void ask(struct source_service *s, enum resolver_family family,
                resolver_done *done)
{
    struct resolver_question q = {s->name, s->absolute, NAMES_SERVICE, family};
    s->pending++;
    resolver_ask(s->resolver, &q, done, s);
}

// Addresses change hands, too: a pod that is not listed any more may have been given one that
// was another's, whose name is still in use here.
static void on_forward(void *arg, const struct resolver_result *r)
{
    struct source_service *s = arg;
    source_pace_count(&s->pace, r);
    for (size_t i = 0; i < r->n && r->asked != NULL; i++) {
        int family = r->addr[i].ss_family == AF_INET ? PODS_IPV4 : PODS_IPV6;
        struct peer *p = find_peer(&s->sides[family], &r->addr[i]);
        if (p == NULL || p->name == NULL || p->literal)
            continue;
        size_t head = strlen(p->name) - strlen(s->name);
        if (strncasecmp(p->name, r->asked, head) == 0)
            continue;
        free(p->name); // asked again in the next round
        p->name = NULL;
        p->tries = 0;
    }
    end_question(s);
}

static void ask_pod(struct source_service *s, const char *name)
{
    struct resolver_question q = {name, s->absolute, NAMES_POD,
                                  s->family == PODS_IPV4 ? RESOLVER_IPV4
                                                         : RESOLVER_IPV6};
    s->pending++;
    resolver_ask(s->resolver, &q, on_forward, s);
}

static void ask_missed(struct source_service *s)
{
    size_t at = 0, asked = 0;
    const char *name;
    while (asked++ < MISSED_MAX && (name = pods_missed(s->pods, &at)) != NULL)
        ask_pod(s, name);
}

static void on_other(void *arg, const struct resolver_result *r)
{
    struct source_service *s = arg;
    struct side *side = &s->sides[s->family == PODS_IPV4 ? PODS_IPV6 : PODS_IPV4];
    source_pace_count(&s->pace, r);
    if (r->n > 0 || r->gone) {
        take_addresses(s, side, r);
        ask_names(s, side);
    }
    end_question(s);
}

// A Service that does not exist lists nobody; one that DNS fails on says nothing.
static void on_addresses(void *arg, const struct resolver_result *r)
{
    struct source_service *s = arg;
    bool v4 = r->n > 0 ? r->addr[0].ss_family == AF_INET : s->family == PODS_IPV4;
    bool fell = v4 != (s->family == PODS_IPV4); // the family asked for has none
    source_pace_count(&s->pace, r);
    free(s->why);
    s->why = r->n == 0 ? xstrdup(r->why) : NULL;
    if (r->n > 0) {
        free(s->absolute_name);
        s->absolute_name = r->asked != NULL ? xstrdup(r->asked) : NULL;
        s->family = v4 ? PODS_IPV4 : PODS_IPV6;
    }
    if (r->n > 0 || r->gone) {
        struct side *side = &s->sides[s->family];
        bool changed = take_addresses(s, side, r);
        ask_names(s, side);
        if (r->n > 0 && r->asked != NULL)
            ask_missed(s);
        if (r->gone || fell)
            take_addresses(s, &s->sides[!s->family], &(struct resolver_result){0});
        else if (changed && r->asked != NULL)
            ask(s, v4 ? RESOLVER_IPV6 : RESOLVER_IPV4, on_other);
    }
    end_question(s);
}

static void on_round(int fd, short what, void *arg)
{
    struct source_service *s = arg;
    s->env->rounds++;
    source_pace_begin(&s->pace);
    free(s->nameless);
    s->nameless = NULL;
    for (int f = 0; f < FAMILIES; f++)
        s->sides[f].answered = false;
    resolver_reload_hosts(s->resolver);
    const char *turn = s->calm && s->any_named && ++s->turns % SOURCE_TURN == 0
                           ? pods_turn(s->pods)
                           : NULL;
    if (turn != NULL)
        ask_pod(s, turn);
    else
        ask(s, s->family == PODS_IPV4 ? RESOLVER_IPV4_FIRST : RESOLVER_IPV6_FIRST,
            on_addresses);
}

// ---- life -------------------------------------------------------------------------

const struct dns_stats *source_service_dns(const struct source_service *s)
{
    return resolver_dns(s->resolver);
}

void source_service_recheck(struct source_service *s, const char *lost)
{
    pods_avoid(s->pods, lost);
    s->calm = false;
    s->pace.step = 0;
    if (s->pending == 0)
        loop_timer_arm(s->timer, source_pace_retry(&s->pace));
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
    s->pods = pods_create();
    s->pace.poll_ms = env->poll_ms;
    s->timer = loop_timer(env->base, on_round, s);
    s->resolver = resolver_create(env->base, config, err);
    if (s->resolver != NULL && resolver_has_dns(s->resolver)) {
        loop_timer_arm(s->timer, 0);
        return s;
    }
    if (s->resolver != NULL) {
        CLEANUP_FREE char *why = resolver_lacks_dns(s->resolver);
        err_set(err,
                "%s: %s: run in a pod with DNS, or name the members with --host or "
                "--hostfile",
                env->what, why);
    }
    source_service_destroy(s);
    return NULL;
}

void source_service_destroy(struct source_service *s)
{
    if (s == NULL)
        return;
    resolver_destroy(s->resolver);
    loop_timer_free(s->timer);
    for (int f = 0; f < FAMILIES; f++) {
        for (size_t i = 0; i < s->sides[f].npeers; i++)
            peer_free(s->sides[f].peers[i]);
        free(s->sides[f].peers);
    }
    pods_destroy(s->pods);
    free(s->absolute_name);
    free(s->name);
    free(s->why);
    free(s->nameless);
    free(s);
}
