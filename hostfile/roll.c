// Who is in the group, and who sits where.
#include "hostfile/roll.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

struct roll *roll_create(const char *job_key, uint32_t term,
                         const struct members *members)
{
    struct roll *r = xcalloc(1, sizeof *r);
    r->job_key = xstrdup(job_key);
    r->term = term;
    r->generation = 1;
    r->nmembers = (uint32_t)members->n;
    r->members = xcalloc(members->n, sizeof *r->members);
    for (uint32_t i = 0; i < r->nmembers; i++) {
        const struct member *from = &members->v[i];
        struct roll_member *to = &r->members[i];
        to->name = xstrdup(from->name);
        to->hostname = xstrdup("");
        to->port = (uint16_t)(from->port > 0 ? from->port : MEMBERS_DEFAULT_PORT);
        members_address(from, to->address, sizeof to->address);
    }
    return r;
}

void roll_destroy(struct roll *r)
{
    if (r == NULL)
        return;
    for (uint32_t i = 0; i < r->nmembers; i++) {
        free(r->members[i].name);
        free(r->members[i].hostname);
    }
    free(r->members);
    free(r->positions);
    free(r->job_key);
    free(r);
}

bool roll_greet(struct roll *r, uint32_t member, const uint8_t *incarnation,
                const char *hostname, uint32_t cpus)
{
    struct roll_member *m = &r->members[member];
    if (m->present &&
        memcmp(m->incarnation, incarnation, ROLL_INCARNATION_BYTES) == 0 &&
        strcmp(m->hostname, hostname) == 0 && m->cpus == cpus)
        return false;
    m->present = true;
    memcpy(m->incarnation, incarnation, ROLL_INCARNATION_BYTES);
    free(m->hostname);
    m->hostname = xstrdup(hostname);
    m->cpus = cpus;
    r->generation++;
    return true;
}

static int check_seats(const struct roll *r, const uint32_t *members, uint32_t n,
                       struct err *err)
{
    CLEANUP_FREE bool *taken = xcalloc(r->nmembers, sizeof *taken);
    for (uint32_t i = 0; i < n; i++) {
        if (members[i] >= r->nmembers || taken[members[i]]) {
            err_set(err, "position %u: member %u %s", i, members[i],
                    members[i] >= r->nmembers ? "does not exist"
                                              : "has another position");
            return -1;
        }
        taken[members[i]] = true;
    }
    return 0;
}

int roll_seat(struct roll *r, const uint32_t *members, uint32_t n, struct err *err)
{
    if (check_seats(r, members, n, err) < 0)
        return -1;
    free(r->positions);
    r->positions = xmemdup(members, n * sizeof *members);
    r->npositions = n;
    r->generation++;
    return 0;
}

long roll_position_of(const struct roll *r, uint32_t member)
{
    for (uint32_t i = 0; i < r->npositions; i++)
        if (r->positions[i] == member)
            return (long)i;
    return -1;
}

int roll_compare(const struct roll *a, const struct roll *b, bool *comparable)
{
    *comparable = strcmp(a->job_key, b->job_key) == 0;
    if (a->term != b->term)
        return a->term < b->term ? -1 : 1;
    if (a->generation != b->generation)
        return a->generation < b->generation ? -1 : 1;
    return 0;
}
