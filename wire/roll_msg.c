// The roll as a message.
#include "wire/roll_msg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

static Muster__RollMember *make_member(const struct roll_member *from)
{
    Muster__RollMember *to = xmalloc(sizeof *to);
    muster__roll_member__init(to);
    to->name = xstrdup(from->name);
    to->address = xstrdup(from->address);
    to->port = from->port;
    to->slots = (uint32_t)(from->slots + 1);
    to->present = from->present;
    if (from->present) {
        to->incarnation.len = ROLL_INCARNATION_BYTES;
        to->incarnation.data = xmemdup(from->incarnation, ROLL_INCARNATION_BYTES);
    }
    return to;
}

static Muster__RollSeat *make_seat(uint32_t member, uint32_t slots)
{
    Muster__RollSeat *to = xmalloc(sizeof *to);
    muster__roll_seat__init(to);
    to->member = member;
    to->slots = slots;
    return to;
}

Muster__Roll *roll_msg_make(const struct roll *r)
{
    Muster__Roll *m = xmalloc(sizeof *m);
    muster__roll__init(m);
    m->job_key = xstrdup(r->job_key);
    m->generation = r->generation;
    m->pods = r->pods;
    m->n_members = r->nmembers;
    m->members = xcalloc(r->nmembers, sizeof(Muster__RollMember *));
    for (uint32_t i = 0; i < r->nmembers; i++)
        m->members[i] = make_member(&r->members[i]);
    m->n_positions = r->npositions;
    m->positions = xcalloc(r->npositions, sizeof(Muster__RollSeat *));
    for (uint32_t i = 0; i < r->npositions; i++)
        m->positions[i] = make_seat(r->positions[i], r->slots[i]);
    return m;
}

static int read_member(const Muster__RollMember *from, struct roll_member *to,
                       struct err *err)
{
    to->name = xstrdup(from->name);
    to->hostname = xstrdup("");
    if (from->port > UINT16_MAX || from->slots > ROLL_SLOTS_MAX ||
        strlen(from->address) >= sizeof to->address ||
        (from->present && from->incarnation.len != ROLL_INCARNATION_BYTES)) {
        err_set(err, "member %.*s: port, slots, address or incarnation make no sense",
                ROLL_NAME_MAX, from->name);
        return -1;
    }
    snprintf(to->address, sizeof to->address, "%s", from->address);
    to->port = (uint16_t)from->port;
    to->slots = (int)from->slots - 1;
    to->present = from->present;
    if (from->present)
        memcpy(to->incarnation, from->incarnation.data, ROLL_INCARNATION_BYTES);
    return 0;
}

static int read_all(const Muster__Roll *m, struct roll *r, struct err *err)
{
    for (size_t i = 0; i < m->n_members; i++) {
        r->nmembers++; // its strings are freed with it
        if (read_member(m->members[i], &r->members[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < m->n_positions; i++, r->npositions++) {
        r->positions[i] = m->positions[i]->member;
        r->slots[i] = m->positions[i]->slots;
    }
    return roll_check(r, err);
}

struct roll *roll_msg_read(const Muster__Roll *m, uint32_t term, struct err *err)
{
    struct roll *r = xcalloc(1, sizeof *r);
    r->job_key = xstrdup(m->job_key);
    r->term = term;
    r->generation = m->generation;
    r->pods = m->pods;
    r->members = xcalloc(m->n_members + 1, sizeof *r->members);
    r->positions = xcalloc(m->n_positions + 1, sizeof *r->positions);
    r->slots = xcalloc(m->n_positions + 1, sizeof *r->slots);
    if (read_all(m, r, err) == 0)
        return r;
    roll_destroy(r);
    return NULL;
}
