// Who is in the group, and who sits where.
#include "hostfile/roll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/hostname.h"

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
        to->slots = from->slots;
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
    free(r->slots);
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

int roll_seat(struct roll *r, const uint32_t *members, const uint32_t *slots,
              uint32_t n, struct err *err)
{
    if (check_seats(r, members, n, err) < 0)
        return -1;
    free(r->positions);
    free(r->slots);
    r->positions = xmemdup(members, n * sizeof *members);
    r->slots = xmemdup(slots, n * sizeof *slots);
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

// ---- moving -------------------------------------------------------------------

static bool move_one(struct roll_member *m, const struct roll_move *to)
{
    uint16_t port = to->port > 0 ? (uint16_t)to->port : m->port;
    if (strcmp(m->name, to->name) == 0 && strcmp(m->address, to->address) == 0 &&
        m->port == port)
        return false;
    if (strcmp(m->name, to->name) != 0) { // else it can be its own
        free(m->name);
        m->name = xstrdup(to->name);
    }
    snprintf(m->address, sizeof m->address, "%s", to->address);
    m->port = port;
    return true;
}

bool roll_move(struct roll *r, const struct roll_move *moves, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any = move_one(&r->members[moves[i].member], &moves[i]) || any;
    r->generation += any ? 1 : 0;
    return any;
}

static bool literal(const char *text, struct sockaddr_storage *out)
{
    return hostname_literal(text, strlen(text), out);
}

// ---- from and to elsewhere ----------------------------------------------------

static int check_member(const struct roll_member *m, struct err *err)
{
    struct sockaddr_storage addr;
    struct place at = {.file = m->name, .line = 0, .column = 1};
    size_t len = strlen(m->name);
    if (len == 0 || len > ROLL_NAME_MAX || hostname_check(m->name, len, &at, NULL) < 0)
        err_set(err, "'%.*s' is no name of a member", place_shown(len), m->name);
    else if (m->address[0] != '\0' && !literal(m->address, &addr))
        err_set(err, "member %s: '%s' is no address", m->name, m->address);
    else if (m->port == 0)
        err_set(err, "member %s has no port", m->name);
    else
        return 0;
    return -1;
}

// It stands in comments of hostfiles.
static bool is_key(const char *key)
{
    size_t len = strlen(key);
    for (size_t i = 0; i < len; i++)
        if (key[i] <= ' ' || key[i] > '~')
            return false;
    return len > 0 && len <= ROLL_KEY_MAX;
}

int roll_check(const struct roll *r, struct err *err)
{
    if (!is_key(r->job_key)) {
        err_set(err,
                "a roll without a job's key: 1 to %d printable bytes without blanks",
                ROLL_KEY_MAX);
        return -1;
    }
    for (uint32_t i = 0; i < r->nmembers; i++)
        if (check_member(&r->members[i], err) < 0)
            return -1;
    for (uint32_t i = 0; i < r->npositions; i++)
        if (r->slots[i] > ROLL_SLOTS_MAX) {
            err_set(err, "position %u: %u slots are too many", i, r->slots[i]);
            return -1;
        }
    return check_seats(r, r->positions, r->npositions, err);
}

static void add_to(struct members *list, const struct roll_member *m, int slots)
{
    struct member *one = members_add(list, m->name, strlen(m->name));
    one->slots = slots;
    one->port = m->port;
    if (!literal(m->address, &one->addr))
        one->why = xstrdup("the launcher knows no address");
}

void roll_lists(const struct roll *r, struct members *all, struct members *seated)
{
    for (uint32_t i = 0; i < r->nmembers; i++)
        add_to(all, &r->members[i], r->members[i].slots);
    for (uint32_t i = 0; seated != NULL && i < r->npositions; i++)
        add_to(seated, &r->members[r->positions[i]],
               r->slots[i] > 0 ? (int)r->slots[i] : -1);
}
