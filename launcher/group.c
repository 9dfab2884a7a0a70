// Members as the launcher sees them.
#include "launcher/group.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

void group_free(struct group *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        free(g->v[i].why);
    free(g->v);
    free(g->vertices);
    free(g->places);
    members_free(&g->members);
    *g = (struct group){0};
}

const char *group_state_name(enum group_state s)
{
    static const char *const names[GROUP_STATES] = {"missing", "found", "attached",
                                                    "lost"};
    return names[s];
}

const char *group_event_name(enum group_event ev)
{
    static const char *const names[GROUP_EVENTS] = {"address", "greeted", "lost",
                                                    "late", "moved"};
    return names[ev];
}

enum group_state group_state_next(enum group_state s, enum group_event ev)
{
    static const struct {
        enum group_state from;
        enum group_event event;
        enum group_state to;
    } table[] = {
        {GROUP_MISSING, GROUP_EV_ADDRESS, GROUP_FOUND},
        {GROUP_MISSING, GROUP_EV_LATE, GROUP_LOST},
        {GROUP_FOUND, GROUP_EV_GREETED, GROUP_ATTACHED},
        {GROUP_FOUND, GROUP_EV_LATE, GROUP_LOST},
        {GROUP_ATTACHED, GROUP_EV_LOST, GROUP_LOST},
        {GROUP_ATTACHED, GROUP_EV_MOVED, GROUP_LOST},
        {GROUP_LOST, GROUP_EV_GREETED, GROUP_ATTACHED},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == s && table[i].event == ev)
            return table[i].to;
    return s;
}

bool group_happens(struct group_member *m, enum group_event ev)
{
    enum group_state was = m->state;
    m->state = group_state_next(was, ev);
    return m->state != was;
}

void group_update(struct group *g, const struct members *members)
{
    group_free(g);
    members_copy(&g->members, members);
    g->n = (uint32_t)members->n;
    g->v = xcalloc(g->n, sizeof *g->v);
    g->vertices = xcalloc(g->n, sizeof *g->vertices);
    g->places = xcalloc(g->n, sizeof *g->places);
    for (uint32_t i = 0; i < g->n; i++) {
        struct group_member *m = &g->v[i];
        m->member = &g->members.v[i];
        m->hidden = true;
        g->vertices[i] = i + 1;
        g->places[i].member = i;
        members_address(m->member, m->address, sizeof m->address);
        if (m->address[0] != '\0')
            group_happens(m, GROUP_EV_ADDRESS);
        m->why = m->member->why != NULL ? xstrdup(m->member->why) : NULL;
    }
}

uint32_t group_vertex_of(const struct group *g, uint32_t member)
{
    return g->vertices[member];
}

uint32_t group_member_of(const struct group *g, uint32_t vertex)
{
    return g->places[vertex - 1].member;
}

struct group_member *group_at(struct group *g, uint32_t vertex)
{
    return &g->v[group_member_of(g, vertex)];
}

static void put(struct group *g, uint32_t vertex, uint32_t member)
{
    g->vertices[member] = vertex;
    g->places[vertex - 1].member = member;
}

void group_exchange(struct group *g, uint32_t a, uint32_t b)
{
    uint32_t was = group_member_of(g, a);
    put(g, a, group_member_of(g, b));
    put(g, b, was);
}

void group_say(struct group *g, uint32_t vertex, uint64_t generation)
{
    g->places[vertex - 1].since = generation;
}

bool group_is_current(const struct group *g, uint32_t vertex, uint64_t generation)
{
    return generation >= g->places[vertex - 1].since;
}

static uint32_t count(const struct group *g, enum group_state from, enum group_state to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n; i++)
        n += g->v[i].state >= from && g->v[i].state <= to ? 1 : 0;
    return n;
}

uint32_t group_found(const struct group *g)
{
    return count(g, GROUP_FOUND, GROUP_LOST);
}

uint32_t group_attached(const struct group *g)
{
    return count(g, GROUP_ATTACHED, GROUP_ATTACHED);
}

void group_set_why(struct group_member *m, const char *why)
{
    free(m->why);
    m->why = xstrdup(why);
}

char *group_member_text(const struct group_member *m)
{
    if (m->address[0] == '\0' || strcmp(m->address, m->member->name) == 0)
        return xstrdup(m->member->name);
    return xasprintf("%s (%s)", m->member->name, m->address);
}

void group_describe_missing(const struct group *g, enum group_state below, unsigned max,
                            struct buf *out)
{
    unsigned shown = 0, more = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct group_member *m = &g->v[i];
        if (m->state >= below && m->state != GROUP_LOST)
            continue;
        if (shown == max) {
            more++;
            continue;
        }
        CLEANUP_FREE char *name = group_member_text(m);
        buf_printf(out, "%s%s: %s", shown++ > 0 ? "; " : "", name,
                   m->why != NULL ? m->why : "no answer yet");
    }
    if (more > 0)
        buf_printf(out, "; and %u more", more);
}
