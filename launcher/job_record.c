// What a launcher leaves to the next one, and what that makes of it.
//
// It goes into the agents' records with each PREPARE; what changes between two of these
// (budgets, time spent, members that are not to be taken) follows as an ACCOUNT, soon after it
// has changed. Times are lengths: how long ago, how long still. The agent adds for how long it
// has kept them (Record.age_ms): no two machines' clocks are held against each other.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "launcher/job_internal.h"
#include "wire/claim.h"
#include "wire/msg.h"

struct job_record {
    struct event *soon; // an ACCOUNT is due
    uint32_t number;    // of the last account
};

// ---- writing ------------------------------------------------------------------------------

static void add_budget(const struct job *j, Muster__Account *a)
{
    struct policy_past past;
    Muster__Budget *b = a->budget = xmalloc(sizeof *b);
    policy_save(j->policy, loop_now_ms(), &past);
    muster__budget__init(b);
    b->n_restarts_ms = past.n;
    b->restarts_ms = past.ago_ms;
    b->quick = past.quick;
    b->same = past.same;
    b->rank = past.rank;
    b->code = past.code;
}

static void copy_incarnation(ProtobufCBinaryData *to, const struct roll_member *m)
{
    to->len = ROLL_INCARNATION_BYTES;
    to->data = xmemdup(m->incarnation, ROLL_INCARNATION_BYTES);
}

static Muster__Standing *make_standing(const struct job *j, uint32_t member,
                                       const struct job_standing *s)
{
    Muster__Standing *m = xmalloc(sizeof *m);
    muster__standing__init(m);
    m->name = xstrdup(j->roll->members[member].name);
    m->address = xstrdup(s->address);
    copy_incarnation(&m->incarnation, &j->roll->members[member]);
    m->avoid_ms = s->avoid_ms;
    m->lost = s->lost;
    m->leaves = j->at->seats[member].leaves;
    return m;
}

static void add_standings(const struct job *j, Muster__Account *a)
{
    a->standings = xcalloc(j->group.n, sizeof(Muster__Standing *));
    for (uint32_t i = 0; i < j->group.n; i++) {
        struct job_standing s;
        job_spares_standing(j, i, &s);
        if (s.avoid_ms > 0 || s.lost || j->at->seats[i].leaves)
            a->standings[a->n_standings++] = make_standing(j, i, &s);
    }
}

static Muster__Account *make_account(struct job *j)
{
    uint64_t now = loop_now_ms();
    Muster__Account *a = xmalloc(sizeof *a);
    muster__account__init(a);
    a->number = ++j->record->number;
    a->timed = j->timed;
    a->spent_ms = j->timed ? now - j->timed_ms : 0;
    a->runs = j->run_ms > 0;
    a->ran_ms = a->runs ? now - j->run_ms : 0;
    a->over = job_muster_gathers(j) && j->reason != NULL;
    a->why = xstrdup(a->over ? j->reason : "");
    add_budget(j, a);
    add_standings(j, a);
    return a;
}

static Muster__RecordSeat *make_seat(const struct roll_member *m)
{
    Muster__RecordSeat *s = xmalloc(sizeof *s);
    muster__record_seat__init(s);
    s->name = xstrdup(m->name);
    s->address = xstrdup(m->address);
    copy_incarnation(&s->incarnation, m);
    s->cpus = m->cpus;
    return s;
}

static Muster__RecordSeat *make_spare(const struct job *j, uint32_t member)
{
    Muster__RecordSeat *s = make_seat(&j->roll->members[member]);
    s->known = job_inspect_is_known(j, member);
    return s;
}

static void add_seats(const struct job *j, Muster__Progress *p)
{
    p->positions = xcalloc(j->map.npositions, sizeof(Muster__RecordSeat *));
    p->spares = xcalloc(j->group.n, sizeof(Muster__RecordSeat *));
    for (uint32_t i = 0; i < j->map.npositions; i++)
        p->positions[p->n_positions++] =
            make_seat(&j->roll->members[j->map.positions[i].member]);
    for (uint32_t i = 0; i < j->group.n; i++)
        if (job_position(j, group_vertex_of(&j->group, i)) == NULL)
            p->spares[p->n_spares++] = make_spare(j, i);
}

Muster__Progress *job_record_progress(struct job *j)
{
    if (j->record == NULL)
        return NULL;
    Muster__Progress *p = xmalloc(sizeof *p);
    muster__progress__init(p);
    p->term = j->term;
    p->attempt = j->at->number;
    p->n_argv = (size_t)j->opts->argc;
    p->argv = xcalloc(p->n_argv, sizeof *p->argv);
    for (size_t i = 0; i < p->n_argv; i++)
        p->argv[i] = xstrdup(j->opts->argv[i]);
    if (j->opts->order != NULL)
        p->order = xstrdup(j->opts->order);
    add_seats(j, p);
    p->account = make_account(j);
    return p;
}

void job_record_tell(struct job *j)
{
    Muster__Account *a = make_account(j);
    job_send(j, FRAME_ACCOUNT, TREE_ALL, &a->base);
    msg_free(a);
}

static void on_soon(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    if (job_claim_holds(j) && j->state >= JOB_MUSTER && j->state < JOB_CLOSE)
        job_record_tell(j);
}

void job_record_changed(struct job *j)
{
    if (j->record != NULL)
        loop_timer_arm(j->record->soon, 0);
}

// ---- taking over --------------------------------------------------------------------------

static void restore_budget(struct job *j, const Muster__Budget *b, uint64_t age_ms)
{
    CLEANUP_FREE uint64_t *ago = xcalloc(b->n_restarts_ms, sizeof *ago);
    for (size_t i = 0; i < b->n_restarts_ms; i++)
        ago[i] = b->restarts_ms[i] + age_ms;
    struct policy_past past = {.ago_ms = ago,
                               .n = (uint32_t)b->n_restarts_ms,
                               .quick = b->quick,
                               .same = b->same,
                               .rank = (long)b->rank,
                               .code = b->code};
    policy_restore(j->policy, loop_now_ms(), &past);
}

// It counts on while there is no launcher, as it does while a restart waits.
static void restore_time(struct job *j, const Muster__Account *a, uint64_t age_ms)
{
    uint64_t spent = a->spent_ms + age_ms;
    if (!a->timed)
        return;
    j->timed = true;
    j->timed_ms = loop_now_ms() - spent;
    if (j->opts->timeout_ms > 0)
        loop_timer_arm(j->run_timer,
                       spent < j->opts->timeout_ms ? j->opts->timeout_ms - spent : 0);
}

static uint32_t find_member(const struct job *j, const char *name)
{
    for (uint32_t i = 0; i < j->group.n; i++)
        if (strcmp(j->roll->members[i].name, name) == 0)
            return i;
    return UINT32_MAX;
}

static void restore_standing(struct job *j, const Muster__Standing *m, uint64_t age_ms)
{
    uint32_t i = find_member(j, m->name);
    if (i == UINT32_MAX)
        return;
    struct job_standing s = {
        .avoid_ms = m->avoid_ms > age_ms ? (uint32_t)(m->avoid_ms - age_ms) : 0,
        .lost = m->lost};
    snprintf(s.address, sizeof s.address, "%s", m->address);
    job_spares_restore(j, i, &s);
    bool same = m->incarnation.len == ROLL_INCARNATION_BYTES &&
                memcmp(m->incarnation.data, j->roll->members[i].incarnation,
                       ROLL_INCARNATION_BYTES) == 0;
    struct job_seat *seat = &j->at->seats[i];
    seat->replaced = seat->leaves = m->leaves && same;
}

// Who sat where stays there.
static void restore_seats(struct job *j, const Muster__Progress *p)
{
    ERR_AUTO err = ERR_INIT;
    uint32_t n = j->map.npositions;
    CLEANUP_FREE uint32_t *found = xcalloc(p->n_positions, sizeof *found);
    if (p->n_positions != n) {
        log_warn(j->conf.log,
                 "job %s had %zu positions and has %u now: its members are placed anew",
                 j->key, p->n_positions, n);
        return;
    }
    job_claim_find(j, p->positions, n, found);
    job_spares_inherit(j, found);
    if (job_roll_seat(j, &err) < 0)
        log_warn(j->conf.log, "the roll stays as it was: %s", err_text(&err));
}

void job_record_seats(const struct job *j, const Muster__Progress *p,
                      Muster__RecordSeat **seats, uint32_t *found)
{
    size_t n = p->n_positions + p->n_spares;
    for (size_t i = 0; i < n; i++)
        seats[i] = i < p->n_positions ? p->positions[i] : p->spares[i - p->n_positions];
    job_claim_find(j, seats, (uint32_t)n, found);
}

void job_record_fill(struct job *j, const Muster__Progress *p)
{
    size_t n = p->n_positions + p->n_spares;
    CLEANUP_FREE Muster__RecordSeat **all = xcalloc(n, sizeof *all);
    CLEANUP_FREE uint32_t *found = xcalloc(n, sizeof *found);
    job_record_seats(j, p, all, found);
    for (size_t i = 0; i < n; i++) {
        struct roll_member *m =
            found[i] != UINT32_MAX ? &j->roll->members[found[i]] : NULL;
        if (m == NULL || m->present)
            continue;
        m->cpus = all[i]->cpus;
        if (all[i]->incarnation.len == sizeof m->incarnation)
            memcpy(m->incarnation, all[i]->incarnation.data, sizeof m->incarnation);
    }
}

// The launcher's end costs a restart, as the end of any other part of the job does; unless it
// came between two attempts, of which the second is paid for.
static bool is_in_budget(struct job *j, const Muster__Account *a, uint64_t age_ms)
{
    ERR_AUTO why = ERR_INIT;
    uint32_t pause = 0;
    struct policy_failure f = {.now_ms = loop_now_ms(),
                               .ran_ms = a != NULL && a->runs ? a->ran_ms + age_ms : 0,
                               .rank = -1,
                               .code = VERDICT_OWN_FAILURE};
    if (j->opts->policy.on_failure == POLICY_ABORT || (a != NULL && a->over))
        return true;
    if (policy_judge(j->policy, &f, &pause, &why)) {
        j->pause_ms = f.now_ms + pause;
        return true;
    }
    job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE, "%s; %s", j->reason, err_text(&why));
    return false;
}

bool job_record_inherit(struct job *j, const Muster__Record *last)
{
    const Muster__Progress *p = last->progress;
    const Muster__Account *a = p->account;
    bool over = a != NULL && a->over;
    j->reason = xasprintf("%s%sthe job was taken over from the launcher on %s",
                          over ? a->why : "", over && a->why[0] != '\0' ? "; " : "",
                          last->host);
    j->reason_code = VERDICT_OWN_FAILURE;
    j->began = true;
    strv_addf(&j->history, "attempt %u ended: %s (term %u)", p->attempt, j->reason,
              j->term);
    restore_seats(j, p);
    if (a != NULL && a->budget != NULL)
        restore_budget(j, a->budget, last->age_ms);
    for (size_t i = 0; a != NULL && i < a->n_standings; i++)
        restore_standing(j, a->standings[i], last->age_ms);
    job_inspect_inherit(j, p);
    if (!is_in_budget(j, a, last->age_ms))
        return false;
    if (a != NULL)
        restore_time(j, a, last->age_ms);
    for (uint32_t i = 0; i < j->group.n; i++)
        if (j->group.v[i].state != GROUP_ATTACHED && !j->group.v[i].hidden)
            job_spares_absent(j, i);
    return true;
}

// ---- life -------------------------------------------------------------------------------

void job_record_create(struct job *j)
{
    j->record = xcalloc(1, sizeof *j->record);
    j->record->soon = loop_timer(j->conf.base, on_soon, j);
}

void job_record_destroy(struct job *j)
{
    if (j->record == NULL)
        return;
    loop_timer_free(j->record->soon);
    free(j->record);
    j->record = NULL;
}
