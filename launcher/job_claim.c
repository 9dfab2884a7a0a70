// Claim: who commands the job, and from where it goes on. (wire/claim.h decides.)
//
// A job without --job has a random key that no other launcher can know: there is nothing to
// claim, agents keep no record of it, and its term is 1.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <event2/event.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/sha256.h"
#include "launcher/job_internal.h"
#include "launcher/oneline.h"
#include "wire/claim.h"
#include "wire/msg.h"

enum {
    LOOK_MS = 1000,    // SHORT: until records are asked for again
    RIVAL_MIN_MS = 20, // both claimed one term: until the next claim, at random
    RIVAL_SPAN_MS = 400,
    TEXT_MAX = 1000, // bytes of a cause that agents keep
    SHOWN = 3,
};

struct job_claim {
    struct claim *claim;
    struct event *timer; // SHORT, a pause between two claims, the fence
    uint64_t
        fence_ms; // agents that are out of reach may keep ranks until then; 0: none
    bool left;    // the job is not ours
};

// ---- the key ------------------------------------------------------------------------

void job_claim_name(struct job *j)
{
    char hex[SHA256_HEX];
    if (j->opts->job != NULL) {
        sha256_hex(j->opts->job, strlen(j->opts->job), hex);
        hex[16] = '\0';
        j->id = strtoull(hex, NULL, 16);
        j->key = xstrdup(j->opts->job);
        return;
    }
    while (j->id == 0 && getrandom(&j->id, sizeof j->id, 0) != sizeof j->id)
        ;
    j->key = xasprintf("%016llx", (unsigned long long)j->id);
    j->term = 1;
}

static void on_timer(evutil_socket_t fd, short what, void *arg);

void job_claim_create(struct job *j)
{
    const Muster__Hello *hello = j->conf.hello;
    struct claim_conf conf = {.members = j->group.n,
                              .argv = j->opts->argv,
                              .argc = (size_t)j->opts->argc,
                              .rerun = j->opts->rerun,
                              .adopt = j->opts->adopt};
    if (j->opts->job == NULL)
        return;
    memcpy(conf.launcher, hello->incarnation.data, sizeof conf.launcher);
    j->claim = xcalloc(1, sizeof *j->claim);
    j->claim->claim = claim_create(&conf);
    j->claim->timer = loop_timer(j->conf.base, on_timer, j);
    j->attach->launcher.len = sizeof conf.launcher;
    j->attach->launcher.data = xmemdup(conf.launcher, sizeof conf.launcher);
    j->attach->launcher_host = xstrdup(hello->hostname);
}

void job_claim_destroy(struct job *j)
{
    if (j->claim == NULL)
        return;
    loop_timer_free(j->claim->timer);
    claim_destroy(j->claim->claim);
    free(j->claim);
}

// ---- going on from where the one before was -------------------------------------------

static void restore_budget(struct job *j, const Muster__Record *last, uint64_t now)
{
    const Muster__Budget *b = last->progress->budget;
    if (b == NULL)
        return;
    CLEANUP_FREE uint64_t *ago = xcalloc(b->n_restarts_ms, sizeof *ago);
    for (size_t i = 0; i < b->n_restarts_ms; i++)
        ago[i] = b->restarts_ms[i] + last->age_ms;
    struct policy_past past = {.ago_ms = ago,
                               .n = (uint32_t)b->n_restarts_ms,
                               .quick = b->quick,
                               .same = b->same,
                               .rank = (long)b->rank,
                               .code = b->code};
    policy_restore(j->policy, now, &past);
}

// The launcher's end costs a restart, as the end of any other part of the job does.
static bool is_in_budget(struct job *j, const Muster__Record *last, uint64_t now)
{
    ERR_AUTO why = ERR_INIT;
    struct policy_failure f = {
        .now_ms = now, .ran_ms = last->age_ms, .rank = -1, .code = VERDICT_OWN_FAILURE};
    uint32_t pause;
    if (j->opts->policy.on_failure == POLICY_ABORT ||
        policy_judge(j->policy, &f, &pause, &why))
        return true;
    job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE, "%s; %s", j->reason, err_text(&why));
    return false;
}

static bool take_over(struct job *j, const Muster__Record *last)
{
    uint64_t now = loop_now_ms();
    uint32_t before = last->progress->attempt;
    j->reason = xasprintf("the job was taken over from the launcher on %s", last->host);
    j->reason_code = VERDICT_OWN_FAILURE;
    strv_addf(&j->history, "attempt %u ended: %s (term %u)", before, j->reason,
              j->term);
    log_warn(j->conf.log, "job %s: %s; attempt %u begins", j->key, j->reason,
             before + 1);
    restore_budget(j, last, now);
    return is_in_budget(j, last, now);
}

static void reign(struct job *j)
{
    const Muster__Record *last = claim_last(j->claim->claim);
    bool goes_on = last != NULL && !j->opts->rerun;
    if (goes_on && !take_over(j, last))
        return;
    job_attempt_destroy(j->at);
    j->at = job_attempt_create(j, goes_on ? last->progress->attempt + 1 : 1);
    events_write(j->conf.events, "claimed",
                 jsonpack("{s:s, s:i, s:i}", "job", j->key, "term", (int)j->term,
                          "attempt", (int)j->at->number));
    job_event(j, JOB_EV_CLAIMED);
}

// Who sat at the last attempt's positions and is not here ends its ranks when its launcher
// misses us there (silence, link grace), or as an orphan; and that takes its graces.
static uint64_t outlive_ms(const struct job *j)
{
    return job_return_outlive_ms(j) + j->opts->grace_ms;
}

static void granted_by_all(struct job *j)
{
    struct job_claim *jc = j->claim;
    bool strangers =
        claim_seats_held(jc->claim) < claim_seats(jc->claim) && !j->opts->adopt;
    uint64_t now = loop_now_ms();
    if (strangers && jc->fence_ms == 0)
        jc->fence_ms = now + outlive_ms(j);
    if (jc->fence_ms > now)
        loop_timer_arm(jc->timer, jc->fence_ms - now);
    else
        reign(j);
}

// ---- leaving ----------------------------------------------------------------------------

static void leave(struct job *j)
{
    j->claim->left = true;
    loop_timer_disarm(j->claim->timer);
    job_event(j, JOB_EV_LEAVE);
}

// The first cause was ours to tell, whatever came of it; now the job is another's.
static void leave_deposed(struct job *j)
{
    const Muster__Record *by = claim_rival(j->claim->claim);
    verdict_free(&j->verdict);
    verdict_set(
        &j->verdict, VERDICT_ORDER, VERDICT_OWN_FAILURE,
        "another launcher, on %s, has taken job %s over (term %u; this one's was "
        "%u): this one stands down, the ranks are the other's",
        by->host, j->key, by->term, j->term);
    events_write(j->conf.events, "deposed",
                 jsonpack("{s:s, s:i, s:i, s:s}", "job", j->key, "term", (int)j->term,
                          "by", (int)by->term, "host", by->host));
    leave(j);
}

static void leave_done(struct job *j)
{
    const Muster__Progress *p = claim_last(j->claim->claim)->progress;
    CLEANUP_FREE char *text = xasprintf(
        "job %s is done: it ended with exit code %u at attempt %u%s%s; nothing "
        "is run (--rerun begins it anew)",
        j->key, p->code, p->attempt, p->text[0] != '\0' ? ": " : "", p->text);
    if (p->code != 0)
        verdict_set(&j->verdict, VERDICT_ORDER, (int)p->code, "%s", text);
    else
        progress_say(j->progress, text);
    leave(j);
}

// ---- claiming ---------------------------------------------------------------------------

static void send_all(struct job *j, uint16_t kind)
{
    struct frame f = job_frame(j, kind, TREE_ALL);
    branch_send(j->branch, &f);
}

static void ask(struct job *j)
{
    j->term = claim_term(j->claim->claim);
    j->roll->term = j->term;
    branch_set_term(j->branch, j->term);
    send_all(j, FRAME_CLAIM);
}

static void judge(struct job *j)
{
    CLEANUP_FREE struct claim_member *m = xcalloc(j->group.n, sizeof *m);
    for (uint32_t i = 0; i < j->group.n; i++)
        m[i] = (struct claim_member){.name = j->roll->members[i].name,
                                     .incarnation = j->roll->members[i].incarnation};
    switch (claim_judge(j->claim->claim, m)) {
    case CLAIM_ASKING: ask(j); break;
    case CLAIM_OVER: leave_done(j); break;
    case CLAIM_SHORT: loop_timer_arm(j->claim->timer, LOOK_MS); break;
    default: break;
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    if (j->state != JOB_CLAIM)
        return;
    switch (claim_state(j->claim->claim)) {
    case CLAIM_SHORT: send_all(j, FRAME_RECORD); break;
    case CLAIM_LOOKING: judge(j); break;
    case CLAIM_REIGNS: granted_by_all(j); break;
    default: break;
    }
}

void job_claim_begin(struct job *j)
{
    job_wait_begin(j);
    if (j->claim == NULL)
        job_event(j, JOB_EV_CLAIMED);
    else
        judge(j);
}

static uint32_t random_ms(uint32_t span)
{
    uint32_t r = 0;
    return getrandom(&r, sizeof r, GRND_NONBLOCK) == sizeof r ? r % span : span / 2;
}

// An agent has said something. What follows depends on the job's state: before CLAIM not
// all agents are there, and after it only a rival is news.
static void act(struct job *j, enum claim_state before, enum claim_state now)
{
    if (now == CLAIM_DEPOSED) {
        if (j->state < JOB_CLOSE && before != CLAIM_DEPOSED)
            leave_deposed(j);
    } else if (j->state != JOB_CLAIM) {
        return;
    } else if (now == CLAIM_REIGNS && before == CLAIM_ASKING) {
        granted_by_all(j);
    } else if (now == CLAIM_LOOKING && before == CLAIM_ASKING) {
        log_debug(j->conf.log, "term %u was claimed by two launchers", j->term);
        loop_timer_arm(j->claim->timer, RIVAL_MIN_MS + random_ms(RIVAL_SPAN_MS));
    } else if (now == CLAIM_LOOKING || now == CLAIM_SHORT) {
        judge(j);
    }
}

void job_claim_frame(struct job *j, const struct frame *f)
{
    if (j->claim == NULL)
        return;
    struct claim *c = j->claim->claim;
    enum claim_state before = claim_state(c), now = before;
    Muster__Record *m = NULL;
    if (f->kind == FRAME_GRANT)
        now = claim_granted(c, f->src - 1, f->term);
    else if ((m = msg_unpack(f, &muster__record__descriptor, NULL)) != NULL)
        now = f->kind == FRAME_DENY ? claim_denied(c, f->src - 1, m)
                                    : claim_record(c, f->src - 1, m);
    msg_free(m);
    act(j, before, now);
}

void job_claim_lost(struct job *j, uint32_t vertex)
{
    if (j->claim != NULL)
        claim_lost(j->claim->claim, vertex - 1);
}

// ---- texts ------------------------------------------------------------------------------

static char *silent_text(const struct job *j)
{
    const struct claim *c = j->claim->claim;
    bool asked = claim_state(c) == CLAIM_ASKING;
    BUF_AUTO who = BUF_INIT;
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->group.n; i++) {
        if (claim_answered(c, i))
            continue;
        CLEANUP_FREE char *name = group_member_text(&j->group.v[i]);
        if (n++ < SHOWN)
            buf_printf(&who, "%s%s", n > 1 ? ", " : "", name);
    }
    if (n > SHOWN)
        buf_printf(&who, " and %u more", n - SHOWN);
    CLEANUP_FREE char *names = buf_steal_str(&who);
    return xasprintf("job %s: waiting for %s%s%s", j->key,
                     asked ? "the end of the ranks of the launcher before on "
                           : "what is known of it on ",
                     n > 0 ? names : "", n == 0 ? "no member" : "");
}

char *job_claim_text(const struct job *j)
{
    BUF_AUTO who = BUF_INIT;
    const struct claim *c = j->claim != NULL ? j->claim->claim : NULL;
    if (c == NULL || claim_state(c) == CLAIM_LOOKING || claim_state(c) == CLAIM_ASKING)
        return c != NULL ? silent_text(j) : xstrdup("");
    claim_name_missing(c, SHOWN, &who);
    CLEANUP_FREE char *missing = buf_steal_str(&who);
    if (claim_state(c) == CLAIM_SHORT)
        return xasprintf(
            "job %s: only %u of the %u positions that it had last are here, no "
            "majority: "
            "%s may still run it with another launcher (--adopt takes it over all the "
            "same)",
            j->key, claim_seats_held(c), claim_seats(c), missing);
    return xasprintf("job %s: waiting until %s must have ended its ranks", j->key,
                     missing);
}

// ---- what the next launcher finds ---------------------------------------------------------

static void add_budget(const struct job *j, Muster__Progress *p)
{
    struct policy_past past;
    Muster__Budget *b = p->budget = xmalloc(sizeof *b);
    policy_save(j->policy, loop_now_ms(), &past);
    muster__budget__init(b);
    b->n_restarts_ms = past.n;
    b->restarts_ms = past.ago_ms;
    b->quick = past.quick;
    b->same = past.same;
    b->rank = past.rank;
    b->code = past.code;
}

static Muster__RecordSeat *make_seat(const struct roll_member *m)
{
    Muster__RecordSeat *s = xmalloc(sizeof *s);
    muster__record_seat__init(s);
    s->name = xstrdup(m->name);
    s->address = xstrdup(m->address);
    s->incarnation.len = ROLL_INCARNATION_BYTES;
    s->incarnation.data = xmemdup(m->incarnation, ROLL_INCARNATION_BYTES);
    return s;
}

Muster__Progress *job_claim_progress(const struct job *j)
{
    if (j->claim == NULL)
        return NULL;
    Muster__Progress *p = xmalloc(sizeof *p);
    muster__progress__init(p);
    p->term = j->term;
    p->attempt = j->at->number;
    p->n_argv = (size_t)j->opts->argc;
    p->argv = xcalloc(p->n_argv, sizeof *p->argv);
    for (size_t i = 0; i < p->n_argv; i++)
        p->argv[i] = xstrdup(j->opts->argv[i]);
    p->n_positions = j->map.npositions;
    p->positions = xcalloc(p->n_positions, sizeof(Muster__RecordSeat *));
    for (uint32_t i = 0; i < j->map.npositions; i++)
        p->positions[i] = make_seat(&j->roll->members[j->map.positions[i].member]);
    add_budget(j, p);
    return p;
}

// Has the job ended, and not only this launcher? Who is interrupted may come again and go on;
// where no rank has run yet there is nothing to remember.
static bool has_ended(const struct job *j)
{
    return j->claim != NULL && !j->claim->left && j->began && j->at->prepare != NULL &&
           claim_state(j->claim->claim) == CLAIM_REIGNS &&
           !(j->verdict.failed && j->interrupts > 0);
}

void job_claim_tell_end(struct job *j)
{
    Muster__Done m = MUSTER__DONE__INIT;
    if (!has_ended(j))
        return;
    const char *text = j->verdict.failed ? j->verdict.text : "";
    CLEANUP_FREE char *line = oneline(text, TEXT_MAX);
    m.code = (uint32_t)job_code(j);
    m.text = line;
    job_send(j, FRAME_DONE, TREE_ALL, &m.base);
}
