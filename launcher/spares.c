// In three rounds over the positions.
#include "launcher/spares.h"

#include <string.h>

#include "common/mem.h"

struct table {
    const struct spares_member *m;
    uint32_t n;
    uint32_t *seats;
    const uint32_t *needs;
    bool *free; // by member: it has no position
};

// Gives the position to the first spare of this kind, if there is one.
static bool take(struct table *t, uint32_t position, bool failed)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const struct spares_member *m = &t->m[i];
        if (!t->free[i] || !m->there || m->failed != failed ||
            m->slots < t->needs[position])
            continue;
        t->free[t->seats[position]] = true;
        t->free[i] = false;
        t->seats[position] = i;
        return true;
    }
    return false;
}

uint32_t spares_seat(const struct spares_member *m, uint32_t n, uint32_t *seats,
                     const uint32_t *needs, uint32_t npositions)
{
    CLEANUP_FREE bool *free = xcalloc(n, sizeof *free);
    struct table t = {.m = m, .n = n, .seats = seats, .needs = needs, .free = free};
    uint32_t vacant = 0;
    for (uint32_t i = 0; i < n; i++)
        free[i] = true;
    for (uint32_t p = 0; p < npositions; p++)
        free[seats[p]] = false;
    for (uint32_t p = 0; p < npositions; p++)
        if (!m[seats[p]].there)
            take(&t, p, false);
    for (uint32_t p = 0; p < npositions; p++)
        if (!m[seats[p]].there && !take(&t, p, true))
            vacant++;
    for (uint32_t p = 0; p < npositions; p++)
        if (m[seats[p]].there && m[seats[p]].failed)
            take(&t, p, false);
    return vacant;
}

// The one position that was called so; npositions: none, or several.
static uint32_t find_called(const char *const *called, uint32_t npositions,
                            const char *hostname)
{
    uint32_t found = npositions;
    for (uint32_t p = 0; p < npositions; p++) {
        if (called[p] == NULL || strcmp(called[p], hostname) != 0)
            continue;
        if (found < npositions)
            return npositions;
        found = p;
    }
    return found;
}

static bool is_at_home(const struct spares_member *m, const char *called)
{
    return m->hostname == NULL || called == NULL || strcmp(m->hostname, called) == 0;
}

void spares_recognize(const struct spares_member *m, uint32_t *seats,
                      const char *const *called, const uint32_t *needs,
                      uint32_t npositions)
{
    for (uint32_t p = 0; p < npositions; p++) {
        // Each change brings a pod home, which is not moved again.
        while (!is_at_home(&m[seats[p]], called[p])) {
            uint32_t was = seats[p];
            uint32_t q = find_called(called, npositions, m[was].hostname);
            if (q == npositions || is_at_home(&m[seats[q]], called[q]) ||
                m[was].slots < needs[q] || m[seats[q]].slots < needs[p])
                break;
            seats[p] = seats[q];
            seats[q] = was;
        }
    }
}

// The first member that is left, `first` before all.
static uint32_t find_free(const struct table *t, uint32_t first, uint32_t need)
{
    if (t->free[first] && t->m[first].slots >= need)
        return first;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->free[i] && t->m[i].slots >= need)
            return i;
    return UINT32_MAX;
}

bool spares_inherit(const struct spares_member *m, uint32_t n, uint32_t *seats,
                    const uint32_t *found, const uint32_t *needs, uint32_t npositions)
{
    CLEANUP_FREE bool *free = xcalloc(n, sizeof *free);
    CLEANUP_FREE uint32_t *to = xmemdup(found, npositions * sizeof *to);
    struct table t = {.m = m, .n = n, .free = free};
    for (uint32_t i = 0; i < n; i++)
        free[i] = true;
    for (uint32_t p = 0; p < npositions; p++) {
        bool fits = to[p] != UINT32_MAX && m[to[p]].slots >= needs[p];
        to[p] = fits ? to[p] : UINT32_MAX;
        if (fits)
            free[to[p]] = false;
    }
    for (uint32_t p = 0; p < npositions; p++) {
        to[p] = to[p] != UINT32_MAX ? to[p] : find_free(&t, seats[p], needs[p]);
        if (to[p] == UINT32_MAX)
            return false;
        free[to[p]] = false;
    }
    memcpy(seats, to, npositions * sizeof *to);
    return true;
}
