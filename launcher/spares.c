// In three rounds over the positions.
#include "launcher/spares.h"

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
