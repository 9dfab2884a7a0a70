// Who follows whom.
#include "hostfile/succeed.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "hostfile/addrset.h"
#include "hostfile/hostname.h"
#include "hostfile/roll.h"

enum { NOBODY = -1 };

// What has become of an entry.
enum fate { OPEN, SETTLED, NEWCOMER };

// What is found out of a member.
struct old {
    struct sockaddr_storage addr; // ss_family 0: none
    int port;
    bool bare;   // known by its address alone, whatever its name
    long entry;  // that stands for it
    long taken;  // the entry that claims its address, its own one or another's
    long change; // enum succeed_cause, NOBODY: none
};

struct plan {
    const struct succeed_member *v;
    size_t n;
    const struct members *list;
    struct old *old;
    long *owner;         // of each entry: the member of its name
    enum fate *fate;     // of each entry
    struct addrset *set; // holders: members below n, entries from n on
    struct succeed *out;
};

static int port_of(int port)
{
    return port > 0 ? port : MEMBERS_DEFAULT_PORT;
}

// ---- names ------------------------------------------------------------------------

static void match_names(struct plan *p)
{
    for (size_t k = 0; k < p->list->n; k++)
        p->owner[k] = NOBODY;
    for (size_t i = 0; i < p->n; i++) {
        struct old *o = &p->old[i];
        const struct succeed_member *m = &p->v[i];
        *o = (struct old){.port = port_of(m->port),
                          .bare = hostname_is_of_address(m->name),
                          .entry = NOBODY,
                          .taken = NOBODY,
                          .change = NOBODY};
        hostname_literal(m->address, strlen(m->address), &o->addr);
        if (o->bare)
            continue;
        o->entry = members_find(p->list, m->name, strlen(m->name));
        if (o->entry >= 0)
            p->owner[o->entry] = (long)i;
    }
}

// ---- addresses --------------------------------------------------------------------

static bool same_place(const struct old *o, const struct member *e)
{
    return o->port == port_of(e->port) && addrset_compare(&o->addr, &e->addr) == 0;
}

// Who holds its address: an attached agent, a member that is listed there by its name,
// and one that no name in the list speaks of.
static void hold(struct plan *p, bool live)
{
    for (size_t i = 0; i < p->n; i++) {
        struct old *o = &p->old[i];
        bool stays = o->entry >= 0 && same_place(o, &p->list->v[o->entry]);
        if (o->addr.ss_family == 0 || p->v[i].live != live ||
            (!live && o->entry >= 0 && !stays))
            continue;
        addrset_add(p->set, &o->addr, o->port, i);
        if (stays)
            o->taken = o->entry;
    }
}

// An entry of no member's name stands for the member of its address. This goes before
// all that is new, wherever it is listed.
static void stand(struct plan *p, size_t k)
{
    const struct member *e = &p->list->v[k];
    if (members_find(p->list, e->name, strlen(e->name)) != (long)k) {
        strv_addf(&p->out->warnings, "%s is listed twice: the first entry counts",
                  e->name);
        p->fate[k] = SETTLED;
        return;
    }
    if (p->owner[k] >= 0 || e->addr.ss_family == 0)
        return;
    size_t i = addrset_find(p->set, &e->addr, port_of(e->port));
    struct old *o = i < p->n ? &p->old[i] : NULL;
    if (o == NULL || o->entry >= 0)
        return;
    o->entry = o->taken = (long)k;
    p->fate[k] = SETTLED;
    if (o->bare && !hostname_is_literal(e->name) &&
        strcasecmp(e->name, p->v[i].name) != 0)
        o->change = SUCCEED_NAMED;
}

// May the entry have its address? `whose` and `why` say why not.
static bool is_free(struct plan *p, size_t k, const char **whose, const char **why)
{
    const struct member *e = &p->list->v[k];
    size_t holder = addrset_add(p->set, &e->addr, port_of(e->port), p->n + k);
    bool member = holder < p->n;
    long taken = member ? p->old[holder].taken : (long)(holder - p->n);
    if (taken == (long)k || (member && (long)holder == p->owner[k]))
        return true;
    *whose = member ? p->v[holder].name : p->list->v[taken].name;
    *why = taken >= 0 ? "is listed there" : "has its agent there";
    if (taken >= 0 || p->v[holder].live)
        return false;
    p->old[holder].taken = (long)k;
    return true;
}

static void claim(struct plan *p, size_t k)
{
    const struct member *e = &p->list->v[k];
    const char *whose, *why;
    long owner = p->owner[k];
    if (p->fate[k] == SETTLED)
        return;
    if (e->addr.ss_family != 0 && !is_free(p, k, &whose, &why)) {
        char at[INET6_ADDRSTRLEN];
        members_address(e, at, sizeof at);
        strv_addf(&p->out->warnings, "%s at %s is passed over: %s %s", e->name, at,
                  whose, why);
    } else if (owner < 0) {
        p->fate[k] = NEWCOMER;
    } else if (e->addr.ss_family != 0 && !same_place(&p->old[owner], e)) {
        p->old[owner].change = SUCCEED_MOVED;
    }
}

// ---- what is left over --------------------------------------------------------------

// The next member from *i on that is known by its address alone, or is nobody's yet, and that the
// list has no longer.
static long next_left(const struct plan *p, size_t *i, bool live)
{
    for (; *i < p->n; ++*i)
        if ((p->old[*i].bare || p->v[*i].open) && p->old[*i].entry < 0 &&
            p->v[*i].live == live)
            return (long)(*i)++;
    return NOBODY;
}

static void fill(struct plan *p)
{
    size_t vacant = 0, waiting = 0;
    for (size_t k = 0; k < p->list->n; k++) {
        bool placed = p->list->v[k].addr.ss_family != 0;
        if (p->fate[k] != NEWCOMER)
            continue;
        long i = placed ? next_left(p, &vacant, false) : NOBODY;
        if (i >= 0) {
            p->old[i].entry = (long)k;
            p->old[i].change = SUCCEED_FILLED;
            continue;
        }
        p->out->extras[p->out->nextras++] = (struct succeed_extra){
            .entry = k, .after = placed ? next_left(p, &waiting, true) : NOBODY};
    }
}

// A member that stays where it was, when that is another's place now.
static void rob(struct plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct old *o = &p->old[i];
        if (o->change >= 0 || o->addr.ss_family == 0 || p->v[i].live)
            continue;
        if (o->taken >= 0 ? o->taken != o->entry
                          : addrset_add(p->set, &o->addr, o->port, i) != i)
            o->change = SUCCEED_ROBBED;
    }
}

// ---- the result ---------------------------------------------------------------------

static struct succeed_change change_of(const struct plan *p, size_t i)
{
    const struct old *o = &p->old[i];
    const struct succeed_member *m = &p->v[i];
    struct succeed_change c = {.member = i,
                               .cause = (enum succeed_cause)o->change,
                               .live = m->live,
                               .name = m->name,
                               .port = m->port};
    if (c.cause == SUCCEED_ROBBED)
        return c;
    const struct member *e = &p->list->v[o->entry];
    members_address(e, c.address, sizeof c.address);
    c.port = e->port;
    if (c.cause != SUCCEED_MOVED)
        c.name = e->name;
    return c;
}

static void conclude(struct plan *p)
{
    struct succeed *out = p->out;
    for (size_t i = 0; i < p->n; i++) {
        out->entry[i] = p->old[i].entry;
        if (p->old[i].change >= 0)
            out->changes[out->nchanges++] = change_of(p, i);
    }
}

void succeed_plan(const struct succeed_member *v, size_t n, const struct members *list,
                  struct succeed *out)
{
    CLEANUP_FREE struct old *old = xcalloc(n + 1, sizeof *old);
    CLEANUP_FREE long *owner = xcalloc(list->n + 1, sizeof *owner);
    CLEANUP_FREE enum fate *fate = xcalloc(list->n + 1, sizeof *fate);
    struct plan p = {.v = v,
                     .n = n,
                     .list = list,
                     .old = old,
                     .owner = owner,
                     .fate = fate,
                     .set = addrset_create(),
                     .out = out};
    *out = (struct succeed){.entry = xcalloc(n + 1, sizeof *out->entry),
                            .changes = xcalloc(n + 1, sizeof *out->changes),
                            .extras = xcalloc(list->n + 1, sizeof *out->extras)};
    match_names(&p);
    hold(&p, true);
    hold(&p, false);
    for (size_t k = 0; k < list->n; k++)
        stand(&p, k);
    for (size_t k = 0; k < list->n; k++)
        claim(&p, k);
    fill(&p);
    rob(&p);
    conclude(&p);
    addrset_destroy(p.set);
}

void succeed_free(struct succeed *s)
{
    free(s->entry);
    free(s->changes);
    free(s->extras);
    strv_free(&s->warnings);
    *s = (struct succeed){0};
}

const char *succeed_cause_name(enum succeed_cause cause)
{
    switch (cause) {
    case SUCCEED_MOVED: return "moved";
    case SUCCEED_NAMED: return "named";
    case SUCCEED_FILLED: return "filled";
    case SUCCEED_ROBBED: return "robbed";
    }
    return "unknown";
}
