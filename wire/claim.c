// The launcher's side of a claim.
#include "wire/claim.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "wire/msg.h"

struct claimed_member {
    Muster__Record *record; // owned; NULL: it is not known (any more)
    bool granted;           // the current term
};

struct claim {
    struct claim_conf conf;
    enum claim_state state;
    uint32_t term; // claimed last
    struct claimed_member *members;
    Muster__Record *last; // owned; what claim_last() says
    // The attempt whose positions were counted: one without a majority, else the last.
    Muster__Progress *counted; // owned; NULL: none
    bool *held;                // by its position
    uint32_t nheld;
    Muster__Record *rival; // owned
};

const char *claim_state_name(enum claim_state s)
{
    static const char *const names[CLAIM_STATES] = {"looking", "short", "asking",
                                                    "reigns",  "over",  "deposed"};
    return names[s];
}

struct claim *claim_create(const struct claim_conf *conf)
{
    struct claim *c = xcalloc(1, sizeof *c);
    c->conf = *conf;
    c->members = xcalloc(conf->members, sizeof *c->members);
    return c;
}

void claim_destroy(struct claim *c)
{
    if (c == NULL)
        return;
    for (uint32_t i = 0; i < c->conf.members; i++)
        msg_free(c->members[i].record);
    msg_free(c->last);
    msg_free(c->counted);
    msg_free(c->rival);
    free(c->held);
    free(c->members);
    free(c);
}

enum claim_state claim_state(const struct claim *c)
{
    return c->state;
}

uint32_t claim_term(const struct claim *c)
{
    return c->term;
}

// ---- what agents say --------------------------------------------------------------

static bool is_own(const struct claim *c, const Muster__Record *m)
{
    return m->launcher.len == CLAIM_LAUNCHER_BYTES &&
           memcmp(m->launcher.data, c->conf.launcher, CLAIM_LAUNCHER_BYTES) == 0;
}

static void keep(struct claim *c, uint32_t member, const Muster__Record *m)
{
    msg_free(c->members[member].record);
    c->members[member].record = msg_copy(&m->base);
}

static void depose(struct claim *c, const Muster__Record *m)
{
    if (c->state == CLAIM_DEPOSED)
        return;
    c->state = CLAIM_DEPOSED;
    c->rival = msg_copy(&m->base);
}

// A term above the own one, once there is one, is another launcher's.
static bool meets_higher(const struct claim *c, const Muster__Record *m)
{
    return c->term > 0 && m->term > c->term;
}

enum claim_state claim_record(struct claim *c, uint32_t member, const Muster__Record *m)
{
    if (meets_higher(c, m))
        depose(c, m);
    else if (c->state == CLAIM_LOOKING || c->state == CLAIM_SHORT)
        keep(c, member, m);
    return c->state;
}

enum claim_state claim_denied(struct claim *c, uint32_t member, const Muster__Record *m)
{
    bool rival = m->term == c->term && !is_own(c, m);
    if (meets_higher(c, m) || (rival && c->state == CLAIM_REIGNS)) {
        depose(c, m);
    } else if (rival && (c->state == CLAIM_ASKING || c->state == CLAIM_LOOKING)) {
        keep(c, member, m);
        c->state = CLAIM_LOOKING;
    }
    return c->state;
}

static bool all_granted(const struct claim *c)
{
    for (uint32_t i = 0; i < c->conf.members; i++)
        if (!c->members[i].granted)
            return false;
    return true;
}

enum claim_state claim_granted(struct claim *c, uint32_t member, uint32_t term)
{
    if (c->state != CLAIM_ASKING || term != c->term)
        return c->state;
    c->members[member].granted = true;
    if (all_granted(c))
        c->state = CLAIM_REIGNS;
    return c->state;
}

void claim_lost(struct claim *c, uint32_t member)
{
    struct claimed_member *m = &c->members[member];
    m->granted = false;
    if (c->state == CLAIM_LOOKING || c->state == CLAIM_SHORT)
        msg_free(STEAL(m->record));
}

// ---- judging ------------------------------------------------------------------------

// Negative: a is further back than b. Of the same attempt one that is done says more.
static int compare(const Muster__Progress *a, const Muster__Progress *b)
{
    if (a->term != b->term)
        return a->term < b->term ? -1 : 1;
    if (a->attempt != b->attempt)
        return a->attempt < b->attempt ? -1 : 1;
    return (int)a->done - (int)b->done;
}

static const Muster__Record *find_best(const struct claim *c)
{
    const Muster__Record *best = NULL;
    for (uint32_t i = 0; i < c->conf.members; i++) {
        const Muster__Record *r = c->members[i].record;
        if (r->progress != NULL &&
            (best == NULL || compare(best->progress, r->progress) < 0))
            best = r;
    }
    return best;
}

static bool is_same_program(const struct claim *c, const Muster__Progress *p)
{
    if (p->n_argv != c->conf.argc)
        return false;
    for (size_t i = 0; i < p->n_argv; i++)
        if (strcmp(p->argv[i], c->conf.argv[i]) != 0)
            return false;
    return true;
}

static bool sits_there(const Muster__RecordSeat *seat, const struct claim_member *m)
{
    return strcmp(seat->name, m->name) == 0 ||
           (seat->incarnation.len == CLAIM_LAUNCHER_BYTES &&
            memcmp(seat->incarnation.data, m->incarnation, CLAIM_LAUNCHER_BYTES) == 0);
}

static void count_seats(struct claim *c, const Muster__Progress *p,
                        const struct claim_member *members)
{
    msg_free(c->counted);
    free(c->held);
    c->counted = msg_copy(&p->base);
    c->held = xcalloc(p->n_positions, sizeof *c->held);
    c->nheld = 0;
    for (size_t i = 0; i < p->n_positions; i++) {
        for (uint32_t k = 0; k < c->conf.members && !c->held[i]; k++)
            c->held[i] = sits_there(p->positions[i], &members[k]);
        c->nheld += c->held[i] ? 1 : 0;
    }
}

static bool is_majority(size_t n, size_t of)
{
    return n > of / 2;
}

// Does no member before this one tell of the same attempt?
static bool is_first_told(const struct claim *c, uint32_t member)
{
    const Muster__Progress *p = c->members[member].record->progress;
    for (uint32_t i = 0; p != NULL && i < member; i++) {
        const Muster__Progress *q = c->members[i].record->progress;
        if (q != NULL && compare(p, q) == 0)
            return false;
    }
    return p != NULL;
}

// Agents tell of several attempts when a launcher was gone before all of them knew the last
// one, or when the group was another: each of these may still run somewhere.
static bool has_majorities(struct claim *c, const struct claim_member *members)
{
    const Muster__Progress *last = c->last->progress;
    for (uint32_t i = 0; i < c->conf.members; i++) {
        const Muster__Progress *p = c->members[i].record->progress;
        if (!is_first_told(c, i) || compare(p, last) == 0)
            continue;
        count_seats(c, p, members);
        if (!is_majority(c->nheld, p->n_positions))
            return false;
    }
    count_seats(c, last, members);
    return is_majority(c->nheld, last->n_positions);
}

static void claim_next(struct claim *c)
{
    for (uint32_t i = 0; i < c->conf.members; i++) {
        const Muster__Record *r = c->members[i].record;
        c->members[i].granted = false;
        c->term = r->term > c->term ? r->term : c->term;
    }
    c->term++;
    c->state = CLAIM_ASKING;
}

enum claim_state claim_judge(struct claim *c, const struct claim_member *members)
{
    if (c->state != CLAIM_LOOKING && c->state != CLAIM_SHORT)
        return c->state;
    for (uint32_t i = 0; i < c->conf.members; i++)
        if (c->members[i].record == NULL)
            return c->state;
    const Muster__Record *best = find_best(c);
    bool done = best != NULL && best->progress->done;
    msg_free(STEAL(c->last));
    msg_free(STEAL(c->counted));
    // A job that is done bothers nobody: another program of that name is another job.
    bool over = done && !c->conf.rerun && is_same_program(c, best->progress);
    if (best != NULL && (over || !done))
        c->last = msg_copy(&best->base);
    if (over)
        c->state = CLAIM_OVER;
    else if (c->last != NULL && !has_majorities(c, members) && !c->conf.adopt)
        c->state = CLAIM_SHORT;
    else
        claim_next(c);
    return c->state;
}

// ---- what came of it ------------------------------------------------------------------

const Muster__Record *claim_last(const struct claim *c)
{
    return c->last;
}

uint32_t claim_seats(const struct claim *c)
{
    return c->counted != NULL ? (uint32_t)c->counted->n_positions : 0;
}

uint32_t claim_seats_held(const struct claim *c)
{
    return c->counted != NULL ? c->nheld : 0;
}

void claim_name_missing(const struct claim *c, unsigned max, struct buf *out)
{
    uint32_t missing = claim_seats(c) - claim_seats_held(c);
    unsigned shown = 0;
    for (uint32_t i = 0; i < claim_seats(c) && shown < max; i++) {
        const Muster__RecordSeat *s = c->counted->positions[i];
        if (c->held[i])
            continue;
        buf_printf(out, "%s%s", shown++ > 0 ? ", " : "", s->name);
        if (strcmp(s->name, s->address) != 0)
            buf_printf(out, " (%s)", s->address);
    }
    if (missing > shown)
        buf_printf(out, " and %u more", missing - shown);
}

bool claim_answered(const struct claim *c, uint32_t member)
{
    const struct claimed_member *m = &c->members[member];
    return c->state == CLAIM_ASKING ? m->granted : m->record != NULL;
}

const Muster__Record *claim_rival(const struct claim *c)
{
    return c->rival;
}
