// libFuzzer target for who commands: what agents tell, in any order, to a launcher's claim and
// to an agent's memory. The input is steps: a byte that says what comes from which member, and
// where that is a record its length (two bytes) and the record.
#include <string.h>

#include "agent/record.h"
#include "common/mem.h"
#include "demand.h"
#include "wire/claim.h"
#include "wire/msg.h"

enum { MEMBERS = 3, STEPS_MAX = 64 };

enum step {
    RECORD,
    DENIED,
    GRANTED,
    LOST,
    JUDGE,
    REMEMBER,
    JUDGE_LATE,
    AGAIN,
    PREPARED,
    ACKED,
    GO,
    STEPS
};

struct input {
    const uint8_t *at, *end;
};

struct game {
    struct claim *claim;
    struct records *records;
    bool granted[MEMBERS]; // the current term
    bool here[MEMBERS];    // it has said something, and was not lost since
    uint32_t term;         // that was claimed last
    uint32_t attempt;      // that was prepared last
};

static const uint8_t own[CLAIM_LAUNCHER_BYTES] = "launcher";

// NULL: there is none. Free with msg_free().
static Muster__Record *take_record(struct input *in)
{
    if (in->end - in->at < 2)
        return NULL;
    size_t len = (size_t)(in->at[0] << 8 | in->at[1]);
    in->at += 2;
    len = len < (size_t)(in->end - in->at) ? len : (size_t)(in->end - in->at);
    struct frame f = {.kind = FRAME_RECORD, .body = in->at, .len = len};
    in->at += len;
    return msg_unpack(&f, &muster__record__descriptor, NULL);
}

// What an agent is told it tells, and a lower term changes nothing.
static void remember(struct records *r, const Muster__Record *m)
{
    struct record_claim c = {.job_key = "train", .term = m->term, .host = m->host};
    if (m->launcher.len == sizeof c.launcher)
        memcpy(c.launcher, m->launcher.data, sizeof c.launcher);
    Muster__Record *before = records_read(r, "train", 9);
    bool granted = records_grant(r, &c);
    demand(!granted || m->term >= before->term, "a lower term was granted");
    demand(records_is_held(r, &c) == granted, "who was granted does not hold it");
    if (granted && m->progress != NULL)
        records_progress(r, "train", m->progress, 5);
    Muster__Record *after = records_read(r, "train", 9);
    demand(after->term >= before->term, "the term fell");
    demand(!granted || after->term == m->term, "another term was granted");
    msg_free(before);
    msg_free(after);
}

// Another term is asked for.
static void asks(struct game *g)
{
    demand(claim_term(g->claim) > g->term, "a term was claimed twice");
    g->term = claim_term(g->claim);
    memset(g->granted, 0, sizeof g->granted);
}

static void judge(struct game *g, bool late)
{
    static const struct claim_member members[MEMBERS] = {
        {"train-0", own},
        {"train-1", (const uint8_t *)"0123456789abcdef"},
        {"train-2", (const uint8_t *)"fedcba9876543210"},
    };
    enum claim_state before = claim_state(g->claim);
    if (claim_judge(g->claim, members, late) == CLAIM_ASKING && before != CLAIM_ASKING)
        asks(g);
}

static void again(struct game *g)
{
    if (claim_outbid(g->claim) && claim_again(g->claim) == CLAIM_ASKING)
        asks(g);
}

static void grant(struct game *g, uint32_t member)
{
    enum claim_state before = claim_state(g->claim);
    bool counts = before == CLAIM_ASKING || before == CLAIM_REIGNS;
    claim_granted(g->claim, member, g->term);
    g->granted[member] = g->granted[member] || counts;
    g->here[member] = g->here[member] || counts;
}

static void lose(struct game *g, uint32_t member)
{
    bool could = claim_can_go(g->claim), may = claim_may_go(g->claim);
    claim_lost(g->claim, member);
    g->here[member] = g->granted[member] = false;
    demand(could || !claim_can_go(g->claim), "with fewer members it can go");
    demand(may || !claim_may_go(g->claim), "with fewer members it may go");
}

// What a launcher does with its attempts, while it commands.
static void prepare(struct game *g, uint32_t member)
{
    const uint32_t seats[2] = {member, (member + 1) % MEMBERS};
    claim_prepared(g->claim, ++g->attempt, seats, 2);
}

static void ack(struct game *g, uint32_t member)
{
    bool may = claim_may_go(g->claim);
    claim_acked(g->claim, member, g->attempt);
    demand(!may || claim_may_go(g->claim), "with one more it may not go");
}

static void go(struct game *g)
{
    bool could = claim_can_go(g->claim);
    if (!claim_may_go(g->claim))
        return;
    claim_gone(g->claim);
    demand(claim_may_go(g->claim), "one that has gone may not go");
    demand(!could || claim_can_go(g->claim), "with fewer attempts it cannot go");
}

static void attempt(struct game *g, enum step s, uint32_t member)
{
    if (claim_state(g->claim) != CLAIM_REIGNS)
        return;
    if (s == PREPARED)
        prepare(g, member);
    else if (s == ACKED)
        ack(g, member);
    else if (s == GO)
        go(g);
}

static void check(const struct game *g, enum claim_state before)
{
    BUF_AUTO missing = BUF_INIT;
    enum claim_state s = claim_state(g->claim);
    demand(s < CLAIM_STATES && claim_state_name(s) != NULL, "no state");
    bool ended = before == CLAIM_OVER || before == CLAIM_SPENT;
    demand(before != CLAIM_DEPOSED || s == before, "who was deposed came back");
    demand(!ended || s == before || s == CLAIM_DEPOSED, "it goes on behind its end");
    demand((s == CLAIM_DEPOSED) == (claim_rival(g->claim) != NULL), "by whom?");
    demand(s != CLAIM_OVER || claim_last(g->claim)->progress->done, "it is not over");
    demand(claim_seats_held(g->claim) <= claim_seats(g->claim), "more than all seats");
    for (int i = 0; s == CLAIM_REIGNS && before != s && i < MEMBERS; i++)
        demand(g->granted[i] || !g->here[i], "it reigns without a grant");
    claim_name_missing(g->claim, 2, &missing);
}

static void step(struct game *g, struct input *in)
{
    uint8_t what = *in->at++;
    uint32_t member = (uint32_t)(what >> 4) % MEMBERS;
    enum step s = (enum step)((what & 15) % STEPS);
    Muster__Record *m =
        s == RECORD || s == DENIED || s == REMEMBER ? take_record(in) : NULL;
    g->here[member] = g->here[member] || (m != NULL && s != REMEMBER);
    if (s == RECORD && m != NULL)
        claim_record(g->claim, member, m);
    else if (s == DENIED && m != NULL)
        claim_denied(g->claim, member, m);
    else if (s == REMEMBER && m != NULL)
        remember(g->records, m);
    else if (s == GRANTED)
        grant(g, member);
    else if (s == JUDGE || s == JUDGE_LATE)
        judge(g, s == JUDGE_LATE);
    else if (s == AGAIN)
        again(g);
    else if (s == LOST)
        lose(g, member);
    else
        attempt(g, s, member);
    msg_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char program[] = "train.py";
    char *argv[] = {program, NULL};
    struct claim_conf conf = {.members = MEMBERS,
                              .argv = argv,
                              .argc = 1,
                              .adopt = size % 5 == 0,
                              .rerun = size % 7 == 0};
    memcpy(conf.launcher, own, sizeof conf.launcher);
    struct game g = {.claim = claim_create(&conf), .records = records_create()};
    struct input in = {data, data + size};
    for (int i = 0; i < STEPS_MAX && in.at < in.end; i++) {
        enum claim_state before = claim_state(g.claim);
        step(&g, &in);
        check(&g, before);
    }
    claim_destroy(g.claim);
    records_destroy(g.records);
    return 0;
}
