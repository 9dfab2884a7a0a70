// The launcher's side of a claim.
#include "wire/claim.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "wire/msg.h"

enum { NOBODY = UINT32_MAX };

struct claimed_member {
    Muster__Record *record; // owned; NULL: it is not known
    bool here;              // it has said something, and was not lost since
    bool granted;           // the current term; and was not lost since
    bool had;               // the same, whatever became of it
    bool late;              // it was not here when the term was chosen
    bool outbid;    // late, and another launcher has it with that term or a higher
    uint32_t acked; // attempt of the current term that it has in its records
};

// An attempt that may still run somewhere, as far as agents know.
struct told {
    uint32_t attempt;
    Muster__Progress *progress; // owned; NULL: it is the own
    uint32_t *seats; // owned; members of its positions, NOBODY: not in the group
    uint32_t n;
};

struct claim {
    struct claim_conf conf;
    enum claim_state state;
    uint32_t term; // claimed last
    struct claimed_member *members;
    Muster__Record *last; // owned; what claim_last() says
    struct told *told;    // owned; the one that came furthest is the last
    uint32_t ntold;
    uint32_t counted;      // the one that claim_seats() tells of
    Muster__Record *rival; // owned
};

const char *claim_state_name(enum claim_state s)
{
    static const char *const names[CLAIM_STATES] = {
        "looking", "short", "asking", "reigns", "over", "deposed", "spent"};
    return names[s];
}

struct claim *claim_create(const struct claim_conf *conf)
{
    struct claim *c = xcalloc(1, sizeof *c);
    c->conf = *conf;
    c->members = xcalloc(conf->members, sizeof *c->members);
    return c;
}

static void forget_told(struct claim *c, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        msg_free(c->told[i].progress);
        free(c->told[i].seats);
    }
    if (to < c->ntold)
        memmove(&c->told[from], &c->told[to], (c->ntold - to) * sizeof *c->told);
    c->ntold -= to - from;
}

void claim_destroy(struct claim *c)
{
    if (c == NULL)
        return;
    forget_told(c, 0, c->ntold);
    for (uint32_t i = 0; i < c->conf.members; i++)
        msg_free(c->members[i].record);
    msg_free(c->last);
    msg_free(c->rival);
    free(c->told);
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

// Is it what another launcher has, that the own claim cannot have?
static bool is_beaten(const struct claim *c, const Muster__Record *m)
{
    return c->term > 0 && (m->term > c->term || (m->term == c->term && !is_own(c, m)));
}

// Whose launcher may have come no further than this member: it proves nothing.
static bool proves_nothing(const struct claimed_member *m)
{
    return m->late && !m->had;
}

static void outbid(struct claim *c, uint32_t member, const Muster__Record *m)
{
    keep(c, member, m);
    c->members[member].outbid = true;
    if (c->state == CLAIM_ASKING)
        c->state = CLAIM_LOOKING;
}

enum claim_state claim_record(struct claim *c, uint32_t member, const Muster__Record *m)
{
    struct claimed_member *cm = &c->members[member];
    bool higher = c->term > 0 && m->term > c->term;
    cm->here = true;
    if (higher && proves_nothing(cm))
        outbid(c, member, m);
    else if (higher)
        depose(c, m);
    else if (c->state == CLAIM_LOOKING || c->state == CLAIM_SHORT)
        keep(c, member, m);
    else if (m->progress != NULL && m->progress->term == c->term)
        claim_acked(c, member, m->progress->attempt);
    return c->state;
}

enum claim_state claim_denied(struct claim *c, uint32_t member, const Muster__Record *m)
{
    struct claimed_member *cm = &c->members[member];
    cm->here = true;
    if (!is_beaten(c, m))
        return c->state; // of a term before
    if (proves_nothing(cm)) {
        outbid(c, member, m);
    } else if (m->term > c->term || c->state == CLAIM_REIGNS) {
        depose(c, m);
    } else if (c->state == CLAIM_ASKING || c->state == CLAIM_LOOKING) {
        keep(c, member, m);
        c->state = CLAIM_LOOKING;
    }
    return c->state;
}

void claim_acked(struct claim *c, uint32_t member, uint32_t attempt)
{
    c->members[member].acked = attempt;
}

// ---- who holds the positions --------------------------------------------------------

static bool is_here(const struct claimed_member *m, uint32_t unused)
{
    return m->here && m->record != NULL;
}

static bool is_granted(const struct claimed_member *m, uint32_t unused)
{
    return m->granted;
}

static bool has_acked(const struct claimed_member *m, uint32_t attempt)
{
    return m->acked == attempt;
}

static uint32_t count(const struct claim *c, const struct told *t,
                      bool (*counts)(const struct claimed_member *, uint32_t),
                      uint32_t attempt)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        n += t->seats[i] != NOBODY && counts(&c->members[t->seats[i]], attempt);
    return n;
}

static bool is_majority(uint32_t n, uint32_t of)
{
    return n > of / 2;
}

// No majority does without one of them.
static bool is_half(uint32_t n, uint32_t of)
{
    return n >= of - of / 2;
}

// Nothing is known of the job, or it is to be begun anew by an order that has not begun it yet.
static bool begins_anew(const struct claim *c, const Muster__Record *best)
{
    const char *order = c->conf.order;
    bool ours = best != NULL && order != NULL && order[0] != '\0' &&
                strcmp(best->progress->order, order) == 0;
    return best == NULL || (c->conf.rerun && !ours);
}

bool claim_begins_anew(const struct claim *c)
{
    return begins_anew(c, c->last);
}

// Grants of all that are here; and where not all are, they are enough.
static bool is_settled(const struct claim *c)
{
    bool all = true;
    for (uint32_t i = 0; i < c->conf.members; i++) {
        const struct claimed_member *m = &c->members[i];
        if (m->here && !m->granted)
            return false;
        all = all && m->granted;
    }
    if (all || claim_begins_anew(c))
        return all;
    for (uint32_t t = 0; t < c->ntold && !c->conf.adopt; t++)
        if (!is_majority(count(c, &c->told[t], is_granted, 0), c->told[t].n))
            return false;
    return true;
}

static void settle(struct claim *c)
{
    if (c->state == CLAIM_ASKING && is_settled(c))
        c->state = CLAIM_REIGNS;
}

enum claim_state claim_granted(struct claim *c, uint32_t member, uint32_t term)
{
    struct claimed_member *m = &c->members[member];
    if ((c->state != CLAIM_ASKING && c->state != CLAIM_REIGNS) || term != c->term)
        return c->state;
    m->here = m->granted = m->had = true;
    settle(c);
    return c->state;
}

enum claim_state claim_lost(struct claim *c, uint32_t member)
{
    struct claimed_member *m = &c->members[member];
    m->here = m->granted = m->outbid = false;
    m->acked = 0;
    if (c->state == CLAIM_LOOKING || c->state == CLAIM_SHORT)
        msg_free(STEAL(m->record));
    settle(c);
    return c->state;
}

// ---- judging ------------------------------------------------------------------------

static int order(uint32_t a, uint32_t b)
{
    return a == b ? 0 : a < b ? -1 : 1;
}

// Negative: a is further back than b.
static int compare(const Muster__Progress *a, const Muster__Progress *b)
{
    int by = order(a->term, b->term);
    return by != 0 ? by : order(a->attempt, b->attempt);
}

// Of the same attempt one that is done says more, then one that was written later.
static int compare_told(const Muster__Progress *a, const Muster__Progress *b)
{
    int by = compare(a, b);
    if (by == 0)
        by = (int)a->done - (int)b->done;
    return by != 0 ? by
                   : order(a->account != NULL ? a->account->number : 0,
                           b->account != NULL ? b->account->number : 0);
}

const Muster__Record *claim_best(const struct claim *c)
{
    const Muster__Record *best = NULL;
    for (uint32_t i = 0; i < c->conf.members; i++) {
        const Muster__Record *r = c->members[i].record;
        if (r != NULL && r->progress != NULL &&
            (best == NULL || compare_told(best->progress, r->progress) < 0))
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

static struct told *add_told(struct claim *c, uint32_t attempt, uint32_t n)
{
    c->told = xrealloc(c->told, c->ntold + 1, sizeof *c->told);
    struct told *t = &c->told[c->ntold++];
    *t = (struct told){
        .attempt = attempt, .n = n, .seats = xcalloc(n, sizeof *t->seats)};
    return t;
}

// Of the same attempt more than one tells; what is done does not run.
static bool is_news(const struct claim *c, const Muster__Progress *p)
{
    for (uint32_t i = 0; i < c->conf.members; i++) {
        const Muster__Record *r = c->members[i].record;
        if (r != NULL && r->progress != NULL && r->progress->done &&
            compare(r->progress, p) == 0)
            return false;
    }
    for (uint32_t t = 0; t < c->ntold; t++)
        if (compare(c->told[t].progress, p) == 0)
            return false;
    return true;
}

static void add_progress(struct claim *c, const Muster__Progress *p,
                         const struct claim_member *members)
{
    if (!is_news(c, p))
        return;
    struct told *t = add_told(c, p->attempt, (uint32_t)p->n_positions);
    t->progress = msg_copy(&p->base);
    claim_seats_find(t->progress->positions, t->n, members, c->conf.members, t->seats);
}

// Agents tell of several attempts when a launcher was gone before all of them knew the last
// one, or when the group was another: each of these may still run somewhere.
static void collect(struct claim *c, const struct claim_member *members)
{
    forget_told(c, 0, c->ntold);
    for (uint32_t i = 0; i < c->conf.members; i++) {
        const Muster__Record *r = c->members[i].record;
        if (r != NULL && r->progress != NULL &&
            compare(r->progress, c->last->progress) != 0)
            add_progress(c, r->progress, members);
    }
    add_progress(c, c->last->progress, members);
}

// Sets the one that is told of: one without a majority, else the last.
static bool has_majorities(struct claim *c)
{
    for (c->counted = 0; c->counted < c->ntold; c->counted++) {
        const struct told *t = &c->told[c->counted];
        if (!is_majority(count(c, t, is_here, 0), t->n))
            return false;
    }
    c->counted = c->ntold > 0 ? c->ntold - 1 : 0;
    return true;
}

static uint32_t highest_term(const struct claim *c)
{
    uint32_t term = c->term;
    for (uint32_t i = 0; i < c->conf.members; i++) {
        const Muster__Record *r = c->members[i].record;
        if (r != NULL && r->term > term)
            term = r->term;
    }
    return term;
}

static void claim_next(struct claim *c)
{
    uint32_t highest = highest_term(c);
    if (highest >= CLAIM_TERM_MAX) {
        c->state = CLAIM_SPENT;
        return;
    }
    for (uint32_t i = 0; i < c->conf.members; i++) {
        struct claimed_member *m = &c->members[i];
        m->granted = m->had = m->outbid = false;
        m->acked = 0;
        m->late = !m->here;
    }
    c->term = highest + 1;
    c->state = CLAIM_ASKING;
}

static bool all_tell(const struct claim *c)
{
    for (uint32_t i = 0; i < c->conf.members; i++)
        if (!is_here(&c->members[i], 0))
            return false;
    return true;
}

// Has the job ended?
static bool is_over(const struct claim *c, const Muster__Record *best)
{
    return !begins_anew(c, best) && best->progress->done &&
           is_same_program(c, best->progress);
}

bool claim_is_known(const struct claim *c)
{
    const Muster__Record *best = claim_best(c);
    return !begins_anew(c, best) && (!best->progress->done || is_over(c, best));
}

// Do those of the last one's positions that are here speak for all?
static bool speaks_for_all(const struct claim *c, const Muster__Record *best,
                           const struct claim_member *members)
{
    struct told t = {.n = (uint32_t)best->progress->n_positions};
    t.seats = xcalloc(t.n, sizeof *t.seats);
    claim_seats_find(best->progress->positions, t.n, members, c->conf.members, t.seats);
    bool known = is_majority(count(c, &t, is_here, 0), t.n);
    free(t.seats);
    return known;
}

enum claim_state claim_judge(struct claim *c, const struct claim_member *members,
                             bool late)
{
    bool all = all_tell(c);
    if ((c->state != CLAIM_LOOKING && c->state != CLAIM_SHORT) || (!all && !late))
        return c->state;
    const Muster__Record *best = claim_best(c);
    bool over = is_over(c, best);
    if (!all && (!claim_is_known(c) || (over && !speaks_for_all(c, best, members))))
        return c->state;
    msg_free(STEAL(c->last));
    forget_told(c, 0, c->ntold);
    // A job that is done bothers nobody: another program of that name is another job.
    if (best != NULL && (over || !best->progress->done))
        c->last = msg_copy(&best->base);
    if (c->last != NULL && !over)
        collect(c, members);
    if (over)
        c->state = CLAIM_OVER;
    else if (!has_majorities(c) && !c->conf.adopt)
        c->state = CLAIM_SHORT;
    else
        claim_next(c);
    return c->state;
}

bool claim_lacks(const struct claim *c, bool late)
{
    switch (c->state) {
    case CLAIM_LOOKING: return late && claim_best(c) == NULL;
    case CLAIM_SHORT: return true;
    case CLAIM_ASKING: return !claim_begins_anew(c);
    default: return false;
    }
}

bool claim_pins(const struct claim *c, uint32_t member)
{
    return c->state == CLAIM_LOOKING ||
           (c->state == CLAIM_ASKING && !c->members[member].granted);
}

bool claim_outbid(const struct claim *c)
{
    for (uint32_t i = 0; i < c->conf.members; i++)
        if (c->state == CLAIM_REIGNS && c->members[i].here && c->members[i].outbid)
            return true;
    return false;
}

enum claim_state claim_again(struct claim *c)
{
    if (c->state == CLAIM_REIGNS)
        claim_next(c);
    return c->state;
}

// ---- attempts -------------------------------------------------------------------------

void claim_prepared(struct claim *c, uint32_t attempt, const uint32_t *seats,
                    uint32_t n)
{
    struct told *t = add_told(c, attempt, n);
    memcpy(t->seats, seats, n * sizeof *seats);
}

bool claim_can_go(const struct claim *c)
{
    for (uint32_t t = 0; t < c->ntold && !c->conf.adopt; t++)
        if (!is_half(count(c, &c->told[t], is_granted, 0), c->told[t].n))
            return false;
    return true;
}

bool claim_may_go(const struct claim *c)
{
    uint32_t before = c->ntold > 0 ? c->ntold - 1 : 0;
    for (uint32_t t = 0; t < before && !c->conf.adopt; t++)
        if (!is_half(count(c, &c->told[t], has_acked, c->told[before].attempt),
                     c->told[t].n))
            return false;
    return true;
}

void claim_gone(struct claim *c)
{
    if (c->ntold > 1)
        forget_told(c, 0, c->ntold - 1);
}

// ---- what came of it ------------------------------------------------------------------

const Muster__Record *claim_last(const struct claim *c)
{
    return c->last;
}

static const struct told *counted(const struct claim *c)
{
    return c->counted < c->ntold ? &c->told[c->counted] : NULL;
}

static bool is_held(const struct claim *c, const struct told *t, uint32_t seat)
{
    const struct claimed_member *m =
        t->seats[seat] != NOBODY ? &c->members[t->seats[seat]] : NULL;
    return m != NULL && (c->state == CLAIM_REIGNS ? is_granted(m, 0) : is_here(m, 0));
}

uint32_t claim_seats(const struct claim *c)
{
    return counted(c) != NULL ? counted(c)->n : 0;
}

uint32_t claim_seats_held(const struct claim *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < claim_seats(c); i++)
        n += is_held(c, counted(c), i) ? 1 : 0;
    return n;
}

const Muster__RecordSeat *claim_missing(const struct claim *c, uint32_t i,
                                        uint32_t *member)
{
    const struct told *t = counted(c);
    for (uint32_t seat = 0; t != NULL && t->progress != NULL && seat < t->n; seat++)
        if (!is_held(c, t, seat) && i-- == 0) {
            *member = t->seats[seat];
            return t->progress->positions[seat];
        }
    return NULL;
}

void claim_name_missing(const struct claim *c, unsigned max, struct buf *out)
{
    uint32_t n = 0, member;
    const Muster__RecordSeat *s;
    for (; (s = claim_missing(c, n, &member)) != NULL; n++) {
        if (n >= max)
            continue;
        buf_printf(out, "%s%s", n > 0 ? ", " : "", s->name);
        if (strcmp(s->name, s->address) != 0)
            buf_printf(out, " (%s)", s->address);
    }
    if (n > max)
        buf_printf(out, " and %u more", n - max);
}

bool claim_answered(const struct claim *c, uint32_t member)
{
    const struct claimed_member *m = &c->members[member];
    return c->state == CLAIM_ASKING ? m->granted : is_here(m, 0);
}

const Muster__Record *claim_rival(const struct claim *c)
{
    return c->rival;
}
