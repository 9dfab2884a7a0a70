// Members of fixed names: one address each, and one family.
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "hostfile/claims.h"
#include "hostfile/source_list_impl.h"

static struct claim *claims_of(const struct source_list *l)
{
    struct claim *c = xcalloc(l->members.n + 1, sizeof *c);
    for (size_t i = 0; i < l->members.n; i++) {
        const struct item *item = source_list_item(l, i);
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
    struct item *item = source_list_item(l, member);
    if (item != NULL && why != NULL) {
        item->doubtful = true;
        source_list_set_text(&item->why, why);
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
    const struct item *a = source_list_item(l, (size_t)who),
                      *b = source_list_item(l, (size_t)c[who].twin);
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

bool source_list_check_claims(struct source_list *l)
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
