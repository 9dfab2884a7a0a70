// Who is in the group, and who sits where.
#include "hostfile/roll.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/addrset.h"
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

static bool literal(const char *text, struct sockaddr_storage *out)
{
    return hostname_literal(text, strlen(text), out);
}

// A move to the place where the member is already is none.
static bool is_elsewhere(const struct roll_member *m, const struct roll_move *move)
{
    struct sockaddr_storage now;
    return !literal(m->address, &now) || addrset_compare(&now, &move->addr) != 0;
}

// The addresses of the members that stay where they are.
static struct addrset *addresses_kept(const struct roll *r, const bool *moves)
{
    struct addrset *kept = addrset_create();
    struct sockaddr_storage addr;
    for (uint32_t i = 0; i < r->nmembers; i++)
        if (!moves[i] && literal(r->members[i].address, &addr))
            addrset_add(kept, &addr, r->members[i].port, i);
    return kept;
}

// One round: moves that are possible while all members stay that are not in `moves`.
// Returns how many were given up; those members stay, too, which can stop others.
static size_t give_up(const struct roll *r, struct roll_move *moves, size_t n,
                      bool *moving)
{
    size_t given_up = 0;
    struct addrset *taken = addresses_kept(r, moving);
    for (size_t i = 0; i < n; i++) {
        struct roll_move *m = &moves[i];
        if (!m->moved)
            continue;
        size_t by = addrset_add(taken, &m->addr, r->members[m->member].port, m->member);
        if (by == m->member)
            continue;
        m->moved = false;
        m->held_by = (long)by;
        moving[m->member] = false;
        given_up++;
    }
    addrset_destroy(taken);
    return given_up;
}

size_t roll_move(struct roll *r, struct roll_move *moves, size_t n)
{
    CLEANUP_FREE bool *moving = xcalloc(r->nmembers, sizeof *moving);
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        moves[i].held_by = -1;
        moves[i].moved = is_elsewhere(&r->members[moves[i].member], &moves[i]);
        if (moves[i].moved)
            moving[moves[i].member] = true;
    }
    while (give_up(r, moves, n, moving) > 0)
        ;
    for (size_t i = 0; i < n; i++) {
        struct roll_member *m = &r->members[moves[i].member];
        struct member at = {.addr = moves[i].addr};
        if (!moves[i].moved)
            continue;
        members_address(&at, m->address, sizeof m->address);
        made++;
    }
    r->generation += made > 0;
    return made;
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

int roll_check(const struct roll *r, struct err *err)
{
    if (r->job_key[0] == '\0') {
        err_set(err, "a roll without a job");
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
