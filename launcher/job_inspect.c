// Inspect: who may have ranks in the attempt that comes.
//
// Between the claim, or a muster, and PREPARE: no rank runs. Members that an inspection is due for
// (inspection.h) are asked at once (INSPECT), and the phase ends when each has answered (VERDICT), is
// lost, or did not answer in time. Who failed is as if it had been lost: its agent gets no ranks any
// more, --replace-hook hears of it, and a spare or another pod takes the position. So the phase
// goes on with PREPARE when all positions have members that are fit, and else with MUSTER, from
// where it comes back for those that are new, or once to give a place in the tree of links to another.
// --replace-timeout counts over the whole round, but cuts no inspection short; no restart is used
// up, as no attempt was begun. Without --check, and when nobody is due, it passes by.
//
// With --check-pairs the network between members comes second, when the last verdict is there
// (job_pairs.c).
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "launcher/finding.h"
#include "launcher/job_internal.h"
#include "wire/msg.h"

enum {
    CHECK_KILL_MS = 5000, // an inspector's bound after SIGKILL (agent/inspector.h)
    MARGIN_MS = 15000,    // above all bounds of the agent
    CHECKS_LIKELY = 4,    // where the agents choose
    SHOWN = 3,
    BAR = 20,
};

struct inspected {
    enum inspection_state state;
    uint32_t number; // of the INSPECT
    bool seen;       // it had a verdict or ranks, be it another agent
    bool served;     // it had, or could have had, ranks of an attempt:
    uint8_t incarnation[ROLL_INCARNATION_BYTES]; // by this agent
    struct finding *v; // of the last VERDICT, or that there was none
    size_t n;
};

struct job_inspect {
    struct inspected *v; // by member; NULL before connect
    Muster__Inspect *msg;
    uint32_t number;    // of the last INSPECT
    uint32_t asked;     // members, in this phase
    struct event *soon; // the phase may be over
    uint64_t findings[FINDING_VERDICTS];
};

// ---- who ------------------------------------------------------------------------

static bool is_first(const struct job *j)
{
    return j->at->number == 0;
}

bool job_inspect_is_known(const struct job *j, uint32_t member)
{
    const struct inspected *s = &j->inspect->v[member];
    return s->served && memcmp(s->incarnation, j->roll->members[member].incarnation,
                               sizeof s->incarnation) == 0;
}

static bool is_renewed(const struct job *j, uint32_t member)
{
    return !is_first(j) && !job_inspect_is_known(j, member);
}

static bool is_due(const struct job *j, uint32_t member)
{
    const struct inspection_member m = {.state = j->inspect->v[member].state,
                                        .there = j->group.v[member].state ==
                                                     GROUP_ATTACHED &&
                                                 !j->at->seats[member].leaves,
                                        .seen = j->inspect->v[member].seen,
                                        .renewed = is_renewed(j, member)};
    return inspection_is_due(j->opts->check.when, is_first(j), &m);
}

static uint32_t count(const struct job *j, enum inspection_state state)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->group.n; i++)
        n += j->inspect->v[i].state == state ? 1 : 0;
    return n;
}

static void happens(struct job *j, uint32_t member, enum inspection_event ev)
{
    struct inspected *s = &j->inspect->v[member];
    enum inspection_state to = inspection_next(s->state, ev);
    if (to == s->state)
        return;
    log_debug(j->conf.log, "inspection of member %s: %s -- %s --> %s",
              j->group.v[member].member->name, inspection_state_name(s->state),
              inspection_event_name(ev), inspection_state_name(to));
    s->state = to;
}

void job_inspect_look(struct job *j)
{
    loop_timer_arm(j->inspect->soon, 0);
}

// ---- findings -------------------------------------------------------------------

static void forget_findings(struct inspected *s)
{
    for (size_t i = 0; i < s->n; i++)
        finding_free(&s->v[i]);
    free(STEAL(s->v));
    s->n = 0;
}

static void take_findings(struct job *j, struct inspected *s, const Muster__Verdict *m)
{
    forget_findings(s);
    s->n = m->n_ends > 0 ? m->n_ends : 1;
    s->v = xcalloc(s->n, sizeof *s->v);
    for (size_t i = 0; i < m->n_ends; i++)
        finding_judge(m->ends[i], j->inspect->msg->timeout_ms, &s->v[i]);
    if (m->n_ends == 0)
        finding_make(FINDING_COULD_NOT, "its verdict is empty", &s->v[0]);
}

static void take_one(struct inspected *s, enum finding_verdict verdict, const char *why)
{
    forget_findings(s);
    s->n = 1;
    s->v = xcalloc(1, sizeof *s->v);
    finding_make(verdict, why, &s->v[0]);
}

static json_t *finding_fields(const struct finding *f)
{
    return jsonpack("{s:s, s:s, s:s, s:f, s:o}", "check", f->check, "verdict",
                    finding_verdict_name(f->verdict), "why", f->why, "seconds",
                    f->seconds, "evidence", json_incref(f->evidence));
}

static void write_event(struct job *j, uint32_t member, const struct finding *f)
{
    const struct group_member *m = &j->group.v[member];
    events_write(j->conf.events, "inspected",
                 jsonpack("{s:i, s:s, s:s, s:s, s:s, s:s, s:f, s:o}", "attempt",
                          (int)j->at->number + 1, "member", m->member->name, "address",
                          m->address, "check", f->check, "verdict",
                          finding_verdict_name(f->verdict), "why", f->why, "seconds",
                          f->seconds, "evidence", json_incref(f->evidence)));
    j->inspect->findings[f->verdict]++;
}

// ---- what follows from them -----------------------------------------------------

// Its loss would end the attempt.
static bool is_needed(const struct job *j, uint32_t member)
{
    return job_position(j, group_vertex_of(&j->group, member)) != NULL;
}

static void is_unfit(struct job *j, uint32_t member, const struct finding *f)
{
    CLEANUP_FREE char *name = group_member_text(&j->group.v[member]);
    CLEANUP_FREE char *what = finding_text(f);
    CLEANUP_FREE char *why = xasprintf("it is not fit for ranks: %s", what);
    happens(j, member, INSPECTION_EV_FAILED);
    if (j->opts->check.only)
        return;
    job_spares_unfit(j, member, why);
    if (j->opts->policy.on_failure == POLICY_ABORT && is_needed(j, member))
        job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE,
                 "member %s is not fit for ranks: %s; look at its node, or give "
                 "--on-failure restart, so that another pod takes its place",
                 name, what);
    else
        log_warn(j->conf.log, "member %s is not fit for ranks: %s", name, what);
}

// Nothing is known against it.
static void is_unknown(struct job *j, uint32_t member)
{
    const struct inspected *s = &j->inspect->v[member];
    for (size_t i = 0; i < s->n && !j->opts->check.only; i++) {
        if (s->v[i].verdict != FINDING_COULD_NOT)
            continue;
        CLEANUP_FREE char *what = finding_text(&s->v[i]);
        CLEANUP_FREE char *text = xasprintf("it was taken without %s", what);
        job_tell_once(j, member, text);
    }
}

static void conclude(struct job *j, uint32_t member)
{
    struct inspected *s = &j->inspect->v[member];
    const struct finding *worst;
    s->seen = true;
    for (size_t i = 0; i < s->n; i++)
        write_event(j, member, &s->v[i]);
    if (finding_sum(s->v, s->n, &worst) == FINDING_FAIL) {
        is_unfit(j, member, worst);
    } else {
        happens(j, member, INSPECTION_EV_PASSED);
        is_unknown(j, member);
    }
    job_inspect_look(j);
}

// ---- pairs ----------------------------------------------------------------------

uint32_t job_inspect_number(struct job *j)
{
    return ++j->inspect->number;
}

bool job_inspect_may_pair(const struct job *j, uint32_t member)
{
    return j->group.v[member].state == GROUP_ATTACHED && !j->at->seats[member].leaves &&
           j->inspect->v[member].state != INSPECTION_UNFIT;
}

double job_inspect_rate(const struct job *j, uint32_t member)
{
    const struct inspected *s = &j->inspect->v[member];
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].check, "cpu") == 0)
            return json_number_value(json_object_get(
                json_object_get(s->v[i].evidence, "copy_gb_s"), "median"));
    return 0;
}

void job_inspect_blamed(struct job *j, uint32_t member, const char *why)
{
    struct inspected *s = &j->inspect->v[member];
    s->v = xrealloc(s->v, s->n + 1, sizeof *s->v);
    struct finding *f = &s->v[s->n++];
    finding_make(FINDING_FAIL, why, f);
    free(f->check);
    f->check = xstrdup("pairs");
    write_event(j, member, f);
    is_unfit(j, member, f);
}

// ---- the phase ------------------------------------------------------------------

static void ask(struct job *j, uint32_t member)
{
    struct inspected *s = &j->inspect->v[member];
    Muster__Inspect m = *j->inspect->msg;
    m.number = s->number = job_inspect_number(j);
    m.member = j->roll->members[member].name;
    j->inspect->asked++;
    happens(j, member, INSPECTION_EV_ASKED);
    job_send(j, FRAME_INSPECT, group_vertex_of(&j->group, member), &m.base);
}

void job_inspect_begin(struct job *j)
{
    if (j->round_ms == 0)
        j->round_ms = loop_now_ms();
    j->inspect->asked = 0;
    job_pairs_reset(j);
    for (uint32_t i = 0; i < j->group.n; i++)
        if (is_due(j, i))
            ask(j, i);
    if (j->inspect->asked > 0 || j->opts->check.only) {
        job_wait_begin(j);
        job_inspect_look(j);
    } else {
        job_event(j, JOB_EV_INSPECTED);
    }
}

char *job_inspect_owed(const struct job *j)
{
    CLEANUP_FREE uint32_t *seats = xcalloc(j->map.npositions, sizeof *seats);
    job_spares_plan(j, seats);
    for (uint32_t p = 0; p < j->map.npositions; p++)
        if (is_due(j, seats[p]))
            return group_member_text(&j->group.v[seats[p]]);
    return NULL;
}

// Nobody has to be waited for, or asked, and who leaves has nobody below it. An exchange is no
// reason to end the job when the round has had its time.
static bool is_over(const struct job *j)
{
    CLEANUP_FREE char *owed = job_inspect_owed(j);
    bool exchange = job_muster_bound_ms(j) > 0 && job_exchange_waits(j);
    return owed == NULL && !exchange && job_muster_is_whole(j);
}

static void on_soon(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    if (j->state != JOB_INSPECT || count(j, INSPECTION_ASKED) > 0 || job_pairs_run(j))
        return;
    if (j->inspect->asked > 0 && job_pairs_begin(j))
        return;
    if (j->opts->check.only)
        job_event(j, JOB_EV_LEAVE);
    else if (is_over(j))
        job_event(j, JOB_EV_INSPECTED);
    else
        job_event(j, JOB_EV_AGAIN);
}

uint32_t job_inspect_bound_ms(const struct job *j)
{
    const Muster__Inspect *m = j->inspect->msg;
    if (job_pairs_run(j))
        return job_pairs_bound_ms(j);
    uint64_t each = (uint64_t)m->timeout_ms + CHECK_KILL_MS;
    uint64_t n = m->n_checks > 0 ? m->n_checks : CHECKS_LIKELY;
    uint64_t all = 2 * n * each + MARGIN_MS; // twice: what was there ends first
    return all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
}

void job_inspect_over(struct job *j)
{
    if (job_pairs_run(j)) {
        job_pairs_over(j);
        return;
    }
    for (uint32_t i = 0; i < j->group.n; i++) {
        struct inspected *s = &j->inspect->v[i];
        if (s->state != INSPECTION_ASKED)
            continue;
        CLEANUP_FREE char *why = xasprintf("its agent gave no verdict within %g s",
                                           job_inspect_bound_ms(j) / 1e3);
        take_one(s, FINDING_FAIL, why);
        conclude(j, i);
    }
    job_inspect_look(j);
}

static void put_bar(struct buf *text, size_t done, size_t all)
{
    static const char full[] = "====================", none[] = "                    ";
    int n = all > 0 ? (int)(done * BAR / all) : 0;
    buf_printf(text, "[%.*s%.*s] ", n, full, BAR - n, none);
}

static void put_pairs(const struct job *j, struct buf *text)
{
    size_t over, all;
    job_pairs_count(j, &over, &all);
    put_bar(text, over, all);
    buf_printf(text, "%zu of %zu pairs checked", over, all);
}

char *job_inspect_text(const struct job *j)
{
    BUF_AUTO text = BUF_INIT;
    uint32_t left = 0, bad = count(j, INSPECTION_UNFIT), n = j->inspect->asked;
    uint32_t done = n - count(j, INSPECTION_ASKED);
    if (job_pairs_run(j)) {
        put_pairs(j, &text);
    } else {
        put_bar(&text, done, n);
        buf_printf(&text, "%u of %u members inspected", done, n);
    }
    if (bad > 0)
        buf_printf(&text, ", %u not fit", bad);
    for (uint32_t i = 0; i < j->group.n; i++) {
        if (j->inspect->v[i].state != INSPECTION_ASKED)
            continue;
        CLEANUP_FREE char *name = group_member_text(&j->group.v[i]);
        if (left++ < SHOWN)
            buf_printf(&text, "%s%s", left == 1 ? "; waiting for " : ", ", name);
    }
    if (left > SHOWN)
        buf_printf(&text, " and %u more", left - SHOWN);
    return buf_steal_str(&text);
}

// ---- what happens to members ------------------------------------------------------

void job_inspect_verdict(struct job *j, const struct frame *f)
{
    uint32_t member = group_member_of(&j->group, f->src);
    struct inspected *s = j->inspect->v != NULL ? &j->inspect->v[member] : NULL;
    Muster__Verdict *m = msg_unpack(f, &muster__verdict__descriptor, NULL);
    bool here = m != NULL && s != NULL && f->term == j->term && j->state == JOB_INSPECT;
    if (here && job_pairs_verdict(j, member, m)) {
        msg_free(m);
        return;
    }
    if (!here || s->state != INSPECTION_ASKED || m->number != s->number) {
        log_debug(j->conf.log, "dropped a VERDICT that nobody waits for");
    } else {
        take_findings(j, s, m);
        conclude(j, member);
    }
    msg_free(m);
}

void job_inspect_lost(struct job *j, uint32_t member, const char *why)
{
    job_pairs_lost(j, member);
    if (j->inspect->v[member].state != INSPECTION_ASKED)
        return;
    CLEANUP_FREE char *text = xasprintf("it was lost: %s", why);
    take_one(&j->inspect->v[member], FINDING_COULD_NOT, text);
    happens(j, member, INSPECTION_EV_LOST);
    job_inspect_look(j);
}

void job_inspect_greeted(struct job *j, uint32_t member, bool same)
{
    if (same)
        return;
    job_pairs_lost(j, member);
    happens(j, member, INSPECTION_EV_RENEWED);
    forget_findings(&j->inspect->v[member]);
}

static void note_served(struct inspected *s, const uint8_t *incarnation)
{
    memcpy(s->incarnation, incarnation, sizeof s->incarnation);
    s->served = true;
}

// Who came when INSPECT had begun may be a spare that nobody has asked.
static bool is_trusted(const struct job *j, uint32_t member)
{
    return j->inspect->v[member].state == INSPECTION_FIT ||
           (j->group.v[member].state == GROUP_ATTACHED && !is_due(j, member));
}

void job_inspect_prepared(struct job *j)
{
    j->round_ms = 0;
    for (uint32_t i = 0; i < j->group.n; i++) {
        if (is_trusted(j, i))
            note_served(&j->inspect->v[i], j->roll->members[i].incarnation);
        happens(j, i, INSPECTION_EV_PREPARED);
    }
}

bool job_inspect_owes(const struct job *j, uint32_t member)
{
    unsigned when = j->opts->check.when & ~(unsigned)INSPECTION_ON_FAILURE;
    const struct inspection_member m = {.there = true,
                                        .seen = j->inspect->v[member].seen,
                                        .renewed = is_renewed(j, member)};
    return inspection_is_due(when, is_first(j), &m);
}

static void inherit(struct inspected *s, const Muster__RecordSeat *seat)
{
    if (seat->incarnation.len != ROLL_INCARNATION_BYTES)
        return;
    note_served(s, seat->incarnation.data);
    s->seen = true;
}

void job_inspect_inherit(struct job *j, const Muster__Progress *p)
{
    size_t n = p->n_positions + p->n_spares;
    CLEANUP_FREE Muster__RecordSeat **seats = xcalloc(n, sizeof *seats);
    CLEANUP_FREE uint32_t *found = xcalloc(n, sizeof *found);
    job_record_seats(j, p, seats, found);
    for (size_t i = 0; i < n; i++)
        if (found[i] != UINT32_MAX && (i < p->n_positions || seats[i]->known))
            inherit(&j->inspect->v[found[i]], seats[i]);
}

// ---- telling ------------------------------------------------------------------------

const char *job_inspect_state(const struct job *j, uint32_t member)
{
    return j->inspect->v != NULL ? inspection_state_name(j->inspect->v[member].state)
                                 : inspection_state_name(INSPECTION_UNKNOWN);
}

uint64_t job_inspect_count(const struct job *j, enum finding_verdict v)
{
    return j->inspect->findings[v];
}

static json_t *report_on(const struct job *j, uint32_t member)
{
    const struct inspected *s = &j->inspect->v[member];
    const struct group_member *m = &j->group.v[member];
    const struct finding *worst;
    enum finding_verdict v = finding_sum(s->v, s->n, &worst);
    json_t *list = json_array();
    for (size_t i = 0; i < s->n; i++)
        json_array_append_new(list, finding_fields(&s->v[i]));
    return jsonpack("{s:i, s:s, s:s, s:s, s:s, s:o}", "member", (int)member, "name",
                    m->member->name, "address", m->address, "verdict",
                    finding_verdict_name(v), "why",
                    worst != NULL    ? worst->why
                    : m->why != NULL ? m->why
                                     : "it was not reached",
                    "checks", list);
}

json_t *job_inspection(const struct job *j)
{
    json_t *members = json_array();
    uint32_t n = j->inspect->v != NULL ? j->group.n : 0;
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(members, report_on(j, i));
    json_t *report = jsonpack("{s:o}", "members", members);
    job_pairs_report(j, report);
    return report;
}

// ---- life -----------------------------------------------------------------------------

void job_inspect_create(struct job *j)
{
    j->inspect = xcalloc(1, sizeof *j->inspect);
    j->inspect->msg = check_opts_message(&j->opts->check);
    j->inspect->soon = loop_timer(j->conf.base, on_soon, j);
}

void job_inspect_start(struct job *j)
{
    j->inspect->v = xcalloc(j->group.n, sizeof *j->inspect->v);
}

void job_inspect_destroy(struct job *j)
{
    if (j->inspect == NULL)
        return;
    for (uint32_t i = 0; j->inspect->v != NULL && i < j->group.n; i++)
        forget_findings(&j->inspect->v[i]);
    free(j->inspect->v);
    msg_free(j->inspect->msg);
    loop_timer_free(j->inspect->soon);
    free(j->inspect);
    j->inspect = NULL;
}
