// Launchers, agents and links of the model.
#include "tests/unit/claim_model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/record.h"
#include "common/mem.h"
#include "wire/claim.h"
#include "wire/msg.h"

static char program[] = "train", host[] = "train-0";
static char *const argv[] = {program};

static unsigned draw(struct model *m, unsigned n)
{
    return (unsigned)rand_r(&m->seed) % n;
}

static bool has(uint32_t set, uint32_t i)
{
    return (set >> i & 1) != 0;
}

static void put(struct queue *q, struct message m)
{
    cr_assert_lt(q->n, QUEUE, "a queue grows without a bound");
    q->v[q->n++] = m;
}

static struct message take(struct queue *q)
{
    struct message m = q->v[0];
    memmove(q->v, q->v + 1, --q->n * sizeof *q->v);
    return m;
}

static void lose_all(struct queue *q)
{
    while (q->n > 0) {
        struct message m = take(q);
        msg_free(m.record);
    }
}

// ---- agents ---------------------------------------------------------------------------

static const char *key = "job";

static void fill_launcher(uint8_t *bytes, uint32_t life)
{
    memset(bytes, 0, CLAIM_LAUNCHER_BYTES);
    memcpy(bytes, &life, sizeof life);
}

static struct record_claim claim_of(const struct session *s)
{
    struct record_claim c = {.job_key = key, .term = s->term, .host = host};
    fill_launcher(c.launcher, s->life);
    return c;
}

static struct launcher *launcher_of(struct model *m, const struct session *s)
{
    for (uint32_t l = 0; l < LAUNCHERS; l++)
        if (m->launchers[l].life == s->life && m->launchers[l].phase != GONE)
            return &m->launchers[l];
    return NULL;
}

static void say(struct model *m, uint32_t a, struct session *s, enum kind kind,
                uint32_t attempt)
{
    struct launcher *l = launcher_of(m, s);
    if (l == NULL || !s->linked)
        return;
    struct message up = {.kind = kind, .term = s->term, .attempt = attempt};
    if (kind == RECORD || kind == DENY)
        up.record = records_read(m->agents[a].records, key, 0);
    put(&l->up[a], up);
}

bool claim_model_has_ranks(const struct session *s)
{
    return s->there && (s->ranks == RUNNING || s->ranks == DYING);
}

static void kill_ranks(struct session *s)
{
    s->prepare_due = false;
    s->ranks = s->ranks == RUNNING || s->ranks == DYING ? DYING : NONE;
}

// Do ranks of other sessions still have to end here?
static bool others_leave(const struct agent *ag, const struct session *s)
{
    for (size_t i = 0; i < SESSIONS; i++)
        if (&ag->sessions[i] != s && claim_model_has_ranks(&ag->sessions[i]))
            return true;
    return false;
}

static void prepare_now(struct model *m, uint32_t a, struct session *s)
{
    const struct message *p = &s->prepare;
    s->prepare_due = false;
    s->ranks = PREPARED;
    s->run = (struct run){s->life, p->term, p->attempt, p->seats};
    say(m, a, s, READY, p->attempt);
}

// What waits for the end of ranks goes on.
static void look_again(struct model *m, uint32_t a)
{
    struct agent *ag = &m->agents[a];
    for (size_t i = 0; i < SESSIONS; i++) {
        struct session *s = &ag->sessions[i];
        if (s->there && s->grant_due && !claim_model_has_ranks(s) &&
            !others_leave(ag, s)) {
            s->grant_due = false;
            say(m, a, s, GRANT, 0);
        }
        if (s->there && s->prepare_due && !others_leave(ag, s) &&
            !claim_model_has_ranks(s))
            prepare_now(m, a, s);
        if (s->there && s->stop_due && !claim_model_has_ranks(s)) {
            s->stop_due = false;
            say(m, a, s, STOPPED, s->stop_attempt);
        }
        if (s->there && !s->linked && !claim_model_has_ranks(s))
            *s = (struct session){0};
    }
}

static void answer_claim(struct model *m, uint32_t a, struct session *s)
{
    struct agent *ag = &m->agents[a];
    struct record_claim c = claim_of(s);
    s->granted = records_grant(ag->records, &c);
    if (!s->granted) {
        say(m, a, s, DENY, 0);
        return;
    }
    for (size_t i = 0; i < SESSIONS; i++) {
        struct session *other = &ag->sessions[i];
        if (!other->there || !other->granted || other->life == s->life)
            continue;
        other->granted = other->grant_due = false;
        say(m, a, other, DENY, 0);
        kill_ranks(other);
    }
    s->grant_due = true;
}

static struct session *attach(struct model *m, uint32_t a, struct launcher *l,
                              uint32_t term)
{
    struct agent *ag = &m->agents[a];
    struct session *fresh = NULL;
    for (size_t i = 0; i < SESSIONS; i++) {
        struct session *s = &ag->sessions[i];
        if (s->there && s->life == l->life) { // gives way
            s->linked = s->granted = false;
            kill_ranks(s);
        } else if (!s->there && fresh == NULL) {
            fresh = s;
        }
    }
    if (fresh == NULL)
        return NULL;
    *fresh =
        (struct session){.there = true, .linked = true, .life = l->life, .term = term};
    say(m, a, fresh, RECORD, 0);
    if (term > 0)
        answer_claim(m, a, fresh);
    return fresh;
}

static void keep_progress(struct agent *ag, const struct message *p)
{
    Muster__Progress g = MUSTER__PROGRESS__INIT;
    Muster__RecordSeat seats[AGENTS], *positions[AGENTS];
    char names[AGENTS][8], empty[1] = "";
    for (uint32_t i = 0; i < AGENTS; i++) {
        if (!has(p->seats, i))
            continue;
        muster__record_seat__init(&seats[i]);
        snprintf(names[i], sizeof names[i], "%u", i);
        seats[i].name = names[i];
        seats[i].address = empty;
        positions[g.n_positions++] = &seats[i];
    }
    g.term = p->term;
    g.attempt = p->attempt;
    g.positions = positions;
    char *args[] = {program};
    g.argv = args;
    g.n_argv = 1;
    records_progress(ag->records, key, &g, 0);
}

static struct session *session_of(struct model *m, uint32_t a, const struct launcher *l)
{
    for (size_t i = 0; i < SESSIONS; i++) {
        struct session *s = &m->agents[a].sessions[i];
        if (s->there && s->linked && s->life == l->life)
            return s;
    }
    return NULL;
}

static void agent_takes(struct model *m, uint32_t a, struct launcher *l,
                        struct message msg)
{
    struct session *s =
        msg.kind == ATTACH ? attach(m, a, l, msg.term) : session_of(m, a, l);
    if (s == NULL || msg.kind == ATTACH)
        return;
    if (msg.kind == CLAIM && msg.term > s->term) {
        s->term = msg.term;
        answer_claim(m, a, s);
    }
    if (msg.kind == RECORD)
        say(m, a, s, RECORD, 0);
    if (msg.kind == CLAIM || msg.kind == RECORD || msg.term != s->term || !s->granted)
        return; // of a term that does not hold: dropped
    if (msg.kind == ACCOUNT) {
        Muster__Account account = MUSTER__ACCOUNT__INIT;
        records_account(m->agents[a].records, key, s->term, msg.attempt, &account, 0);
    } else if (msg.kind == PREPARE) {
        keep_progress(&m->agents[a], &msg);
        s->prepare = msg;
        s->prepare_due = has(msg.seats, a);
        if (!s->prepare_due)
            say(m, a, s, RECORD, 0);
    } else if (msg.kind == GO && s->ranks == PREPARED &&
               s->run.attempt == msg.attempt) {
        s->ranks = RUNNING;
    } else if (msg.kind == STOP) {
        kill_ranks(s);
        s->stop_due = true;
        s->stop_attempt = msg.attempt;
    }
}

// ---- launchers ------------------------------------------------------------------------

static uint32_t index_of(const struct launcher *l, uint32_t a)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a; i++)
        n += has(l->members, i) ? 1 : 0;
    return n;
}

static uint32_t count(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

static void tell(struct launcher *l, enum kind kind)
{
    for (uint32_t a = 0; a < AGENTS; a++)
        if (has(l->members, a) && l->linked[a])
            put(&l->down[a], (struct message){.kind = kind,
                                              .term = claim_term(l->claim),
                                              .attempt = l->attempt,
                                              .seats = l->seats});
}

static void enter(struct launcher *l, enum phase phase)
{
    l->phase = phase;
    l->turns = 0;
}

static void launcher_ends(struct model *m, struct launcher *l)
{
    for (uint32_t a = 0; a < AGENTS; a++) {
        struct session *s = session_of(m, a, l);
        if (s != NULL)
            s->linked = false;
        lose_all(&l->down[a]);
        lose_all(&l->up[a]);
        l->linked[a] = false;
    }
    claim_destroy(l->claim);
    *l = (struct launcher){.phase = GONE};
}

void claim_model_launch(struct model *m, struct launcher *l)
{
    struct claim_conf conf = {.argv = argv, .argc = 1};
    *l = (struct launcher){.phase = LOOK, .life = ++m->lives};
    l->members = (1U << AGENTS) - 1;
    while (m->groups_differ && (count(l->members) == AGENTS || count(l->members) < 2))
        l->members = draw(m, 1U << AGENTS);
    if (m->lives == 1)
        l->members = (1U << AGENTS) - 1; // the first one sees all
    conf.members = count(l->members);
    fill_launcher(conf.launcher, l->life);
    l->claim = claim_create(&conf);
}

static bool is_idle(const struct launcher *l)
{
    for (uint32_t a = 0; a < AGENTS; a++)
        if (l->down[a].n > 0 || l->up[a].n > 0)
            return false;
    return true;
}

static void judge(struct launcher *l)
{
    static const char *const names[AGENTS] = {"0", "1", "2", "3", "4"};
    struct claim_member members[AGENTS];
    uint32_t n = 0;
    for (uint32_t a = 0; a < AGENTS; a++)
        if (has(l->members, a))
            members[n++] = (struct claim_member){names[a], NULL};
    if (claim_state(l->claim) == CLAIM_SHORT && is_idle(l))
        tell(l, RECORD);
    if (claim_state(l->claim) == CLAIM_ASKING)
        return;
    if (claim_judge(l->claim, members, l->late) == CLAIM_ASKING)
        tell(l, CLAIM);
}

static uint32_t first_seats(const struct model *m, const struct launcher *l)
{
    uint32_t seats = 0;
    for (uint32_t a = 0; a < AGENTS && count(seats) < m->positions; a++)
        seats |= has(l->members, a) ? 1U << a : 0;
    return seats;
}

// As job_claim.c's take_over(): who sat where, and who is missing of them.
static void take_over(struct model *m, struct launcher *l, const Muster__Progress *p)
{
    uint32_t seats = 0, i = 0, unused;
    for (size_t k = 0; k < p->n_positions; k++)
        seats |= 1U << (p->positions[k]->name[0] - '0');
    if (count(seats) == count(l->seats) && (seats & ~l->members) == 0)
        l->seats = seats;
    for (const Muster__RecordSeat *s; (s = claim_missing(l->claim, i, &unused)) != NULL;
         i++)
        l->fence |= 1U << (s->name[0] - '0');
    l->attempt = p->attempt;
    m->takeovers++;
    tell(l, ACCOUNT);
}

static void reign(struct model *m, struct launcher *l)
{
    const Muster__Record *last = claim_last(l->claim);
    l->seats = first_seats(m, l);
    if (last != NULL)
        take_over(m, l, last->progress);
    enter(l, GATHER);
}

// Everybody who sits there, or a spare for him, is linked.
static bool find_seats(struct launcher *l)
{
    uint32_t seats = l->seats;
    for (uint32_t a = 0; a < AGENTS; a++) {
        if (!has(seats, a) || l->linked[a])
            continue;
        uint32_t spare = 0;
        while (spare < AGENTS &&
               (!has(l->members, spare) || has(seats, spare) || !l->linked[spare]))
            spare++;
        if (spare == AGENTS)
            return false;
        seats = (seats & ~(1U << a)) | 1U << spare;
    }
    l->seats = seats;
    return true;
}

// The time is over within which ranks there must have ended, and a launcher that is older must
// have missed its members.
static bool is_fenced(const struct model *m, const struct launcher *l, uint32_t a)
{
    for (size_t i = 0; i < SESSIONS; i++) {
        const struct session *s = &m->agents[a].sessions[i];
        if (s->there &&
            (claim_model_has_ranks(s) || (s->ranks == PREPARED && s->life != l->life)))
            return true;
    }
    for (uint32_t i = 0; i < LAUNCHERS; i++) {
        const struct launcher *o = &m->launchers[i];
        if (o != l && (o->phase == READYING || o->phase == GOING) && has(o->seats, a))
            return true;
    }
    return false;
}

static void prepare(struct launcher *l)
{
    uint32_t seats[POSITIONS], n = 0;
    l->attempt++;
    l->ready = l->stopped = 0;
    for (uint32_t a = 0; a < AGENTS; a++)
        if (has(l->seats, a))
            seats[n++] = index_of(l, a);
    claim_prepared(l->claim, l->attempt, seats, n);
    enter(l, READYING);
    tell(l, PREPARE);
}

static void gather(struct model *m, struct launcher *l)
{
    if (claim_outbid(l->claim)) {
        claim_again(l->claim);
        tell(l, CLAIM);
    }
    if (claim_state(l->claim) == CLAIM_LOOKING)
        judge(l);
    if (claim_state(l->claim) != CLAIM_REIGNS || !find_seats(l) ||
        !claim_can_go(l->claim))
        return;
    prepare(l);
}

static void stop_attempt(struct launcher *l)
{
    if (l->phase != READYING && l->phase != GOING)
        return;
    enter(l, STOPPING);
    tell(l, STOP);
}

static void launcher_loses(struct launcher *l, uint32_t a)
{
    l->linked[a] = false;
    lose_all(&l->down[a]);
    lose_all(&l->up[a]);
    claim_lost(l->claim, index_of(l, a));
    if (!has(l->seats, a))
        return;
    if (l->phase != GATHER && l->phase != LOOK && !has(l->stopped, a))
        l->fence |= 1U << a; // what is left there ends by itself
    l->stopped |= 1U << a;
    stop_attempt(l);
}

static void go_if_ready(struct model *m, struct launcher *l)
{
    for (uint32_t a = 0; a < AGENTS; a++)
        if (has(l->fence, a) && !is_fenced(m, l, a))
            l->fence &= ~(1U << a);
    if (l->fence != 0 || l->phase != READYING || (l->seats & ~l->ready) != 0 ||
        !claim_may_go(l->claim))
        return;
    claim_gone(l->claim);
    enter(l, GOING);
    m->runs++;
    tell(l, GO);
}

static void launcher_takes(struct model *m, struct launcher *l, uint32_t a,
                           struct message msg)
{
    uint32_t i = index_of(l, a);
    bool current = msg.term == claim_term(l->claim) && msg.attempt == l->attempt;
    if (msg.kind == RECORD)
        claim_record(l->claim, i, msg.record);
    else if (msg.kind == DENY)
        claim_denied(l->claim, i, msg.record);
    else if (msg.kind == GRANT)
        claim_granted(l->claim, i, msg.term);
    else if (msg.kind == READY && current) {
        l->ready |= 1U << a;
        claim_acked(l->claim, i, l->attempt);
    } else if (msg.kind == STOPPED && current)
        l->stopped |= 1U << a;
    msg_free(msg.record);
    if (claim_state(l->claim) == CLAIM_DEPOSED)
        launcher_ends(m, l);
    else
        go_if_ready(m, l);
}

// One of the members that are missing, if there is any.
static bool dial(struct model *m, struct launcher *l)
{
    uint32_t missing = 0;
    for (uint32_t a = 0; a < AGENTS; a++)
        missing |=
            has(l->members & ~m->dead & ~l->away, a) && !l->linked[a] ? 1U << a : 0;
    for (uint32_t a = draw(m, AGENTS), n = 0; n < AGENTS; n++, a = (a + 1) % AGENTS)
        if (has(missing, a)) {
            l->linked[a] = true;
            put(&l->down[a],
                (struct message){.kind = ATTACH, .term = claim_term(l->claim)});
            return true;
        }
    return false;
}

static void wait_in(struct model *m, struct launcher *l)
{
    l->turns++;
    if (l->phase == READYING && l->turns > READY_BOUND)
        stop_attempt(l);
    if (l->phase == STOPPING && l->turns > READY_BOUND) {
        l->fence |= l->seats & ~l->stopped;
        l->stopped = l->seats;
    }
    if (l->turns > WAIT && l->phase != GOING) {
        m->given_up++;
        launcher_ends(m, l);
    }
}

// What a launcher does when it is its turn and nothing has come.
static void launcher_acts(struct model *m, struct launcher *l)
{
    if (l->phase == GONE)
        return;
    wait_in(m, l);
    if (l->phase == GONE || dial(m, l))
        return;
    l->late = l->late || (m->partial && draw(m, 8) == 0);
    if (l->phase == LOOK && claim_state(l->claim) == CLAIM_REIGNS)
        reign(m, l);
    else if (l->phase == LOOK)
        judge(l);
    else if (l->phase == STOPPING && (l->seats & ~l->stopped) == 0)
        enter(l, GATHER);
    else if (l->phase == GATHER)
        gather(m, l);
    else if (l->phase == READYING)
        go_if_ready(m, l);
}

// ---- what may happen ------------------------------------------------------------------

// The agent sees it at once, the launcher later (notice_loss).
static void break_link(struct model *m, struct launcher *l, uint32_t a)
{
    struct session *s = session_of(m, a, l);
    if (l->phase == GONE || !has(l->members, a))
        return;
    if (s != NULL)
        s->linked = false;
    lose_all(&l->down[a]);
    lose_all(&l->up[a]);
}

static void notice_loss(struct model *m, struct launcher *l)
{
    uint32_t a = draw(m, AGENTS);
    if (l->phase != GONE && l->linked[a] && session_of(m, a, l) == NULL &&
        l->down[a].n == 0)
        launcher_loses(l, a);
}

// Memory and ranks are gone with it.
static void restart_agent(struct model *m, uint32_t a)
{
    struct agent *ag = &m->agents[a];
    for (uint32_t l = 0; l < LAUNCHERS; l++)
        break_link(m, &m->launchers[l], a);
    records_destroy(ag->records);
    *ag = (struct agent){.incarnation = ++m->incarnations, .records = records_create()};
}

// Ranks end: after a kill, or those whose launcher is gone.
static void ranks_end(struct model *m, uint32_t a)
{
    struct session *s = &m->agents[a].sessions[draw(m, SESSIONS)];
    if (s->there && s->ranks == DYING)
        s->ranks = NONE;
    else if (s->there && !s->linked)
        kill_ranks(s);
}

// The next message of some queue that is not empty.
static void deliver(struct model *m)
{
    enum { QUEUES = LAUNCHERS * AGENTS * 2 };
    for (uint32_t i = draw(m, QUEUES), n = 0; n < QUEUES; n++, i = (i + 1) % QUEUES) {
        struct launcher *l = &m->launchers[i % LAUNCHERS];
        uint32_t a = i / LAUNCHERS % AGENTS;
        bool down = i / LAUNCHERS / AGENTS == 0;
        struct queue *q = down ? &l->down[a] : &l->up[a];
        if (l->phase == GONE || q->n == 0)
            continue;
        if (down)
            agent_takes(m, a, l, take(q));
        else
            launcher_takes(m, l, a, take(q));
        return;
    }
}

void claim_model_kill(struct model *m, uint32_t agents)
{
    m->dead = agents;
    for (uint32_t l = 0; l < LAUNCHERS; l++)
        for (uint32_t a = 0; a < AGENTS; a++)
            if (has(agents, a))
                break_link(m, &m->launchers[l], a);
}

// Some agents cannot be reached by a launcher, until another time.
static void go_away(struct model *m, struct launcher *l)
{
    l->away = draw(m, 1U << AGENTS) & draw(m, 1U << AGENTS);
    for (uint32_t a = 0; a < AGENTS; a++)
        if (has(l->away, a))
            break_link(m, l, a);
}

static void fail(struct model *m)
{
    struct launcher *l = &m->launchers[draw(m, LAUNCHERS)];
    uint32_t a = draw(m, AGENTS);
    switch (draw(m, 5)) {
    case 0: break_link(m, l, a); break;
    case 1:
        if (m->forgets)
            restart_agent(m, a);
        break;
    case 2:
        if (l->phase != GONE && draw(m, 2) == 0)
            launcher_ends(m, l);
        break;
    case 3: go_away(m, l); break;
    default:
        if (l->phase == GONE)
            claim_model_launch(m, l);
    }
}

void claim_model_step(struct model *m, bool faults)
{
    unsigned what = draw(m, 1000), calm = faults ? 1000 - m->fault_rate : 1000;
    if (what < 600)
        deliver(m);
    else if (what < 750)
        ranks_end(m, draw(m, AGENTS));
    else if (what < 800)
        notice_loss(m, &m->launchers[draw(m, LAUNCHERS)]);
    else if (what < calm)
        launcher_acts(m, &m->launchers[draw(m, LAUNCHERS)]);
    else
        fail(m);
    for (uint32_t l = 0; l < LAUNCHERS && !faults; l++)
        m->launchers[l].away = 0;
    for (uint32_t a = 0; a < AGENTS; a++)
        look_again(m, a);
}

void claim_model_create(struct model *m, unsigned seed)
{
    m->seed = seed;
    m->fault_rate = 1 + seed % 20;
    m->positions = POSITIONS - seed % 2;
    for (uint32_t a = 0; a < AGENTS; a++)
        m->agents[a].records = records_create();
    for (uint32_t l = 0; l < LAUNCHERS; l++)
        m->launchers[l].phase = GONE;
    claim_model_launch(m, &m->launchers[0]);
}

void claim_model_destroy(struct model *m)
{
    for (uint32_t l = 0; l < LAUNCHERS; l++)
        if (m->launchers[l].phase != GONE)
            launcher_ends(m, &m->launchers[l]);
    for (uint32_t a = 0; a < AGENTS; a++)
        records_destroy(m->agents[a].records);
}
