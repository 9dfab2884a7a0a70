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
    struct event *timer; // SHORT, blind, a pause between two claims
    struct event *patience;
    bool late;         // who is not here is not waited for
    uint64_t fence_ms; // who is not in the group may keep ranks until then; 0: nobody
    bool left;         // the job is not ours
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
static void on_patience(evutil_socket_t fd, short what, void *arg);

// As long as a member may be silent until it is lost.
uint32_t job_claim_patience_ms(const struct job *j)
{
    uint32_t dead_ms = j->opts->heartbeat_ms * LINK_DEAD_BEATS;
    return j->opts->job != NULL ? dead_ms + j->opts->link_grace_ms : 0;
}

void job_claim_create(struct job *j)
{
    const Muster__Hello *hello = j->conf.hello;
    struct claim_conf conf = {.members = j->group.n,
                              .argv = j->opts->argv,
                              .argc = (size_t)j->opts->argc,
                              .rerun = j->opts->rerun,
                              .order = j->opts->order,
                              .adopt = j->opts->adopt};
    if (j->opts->job == NULL)
        return;
    memcpy(conf.launcher, hello->incarnation.data, sizeof conf.launcher);
    j->claim = xcalloc(1, sizeof *j->claim);
    j->claim->claim = claim_create(&conf);
    j->claim->timer = loop_timer(j->conf.base, on_timer, j);
    j->claim->patience = loop_timer(j->conf.base, on_patience, j);
    loop_timer_arm(j->claim->patience, job_claim_patience_ms(j));
    job_record_create(j);
    j->attach->launcher.len = sizeof conf.launcher;
    j->attach->launcher.data = xmemdup(conf.launcher, sizeof conf.launcher);
}

void job_claim_destroy(struct job *j)
{
    if (j->claim == NULL)
        return;
    loop_timer_free(j->claim->timer);
    loop_timer_free(j->claim->patience);
    claim_destroy(j->claim->claim);
    free(j->claim);
}

// ---- the members ------------------------------------------------------------------------

// With names and agents, as they are now; of a member that is not here as they were.
static struct claim_member *list_members(const struct job *j)
{
    struct claim_member *m = xcalloc(j->group.n, sizeof *m);
    for (uint32_t i = 0; i < j->group.n; i++)
        m[i] = (struct claim_member){.name = j->roll->members[i].name,
                                     .incarnation = j->roll->members[i].incarnation};
    return m;
}

void job_claim_find(const struct job *j, Muster__RecordSeat *const *seats, uint32_t n,
                    uint32_t *found)
{
    CLEANUP_FREE struct claim_member *m = list_members(j);
    claim_seats_find(seats, n, m, j->group.n, found);
}

// ---- reigning ---------------------------------------------------------------------------

// Who sat at the last attempt's positions and is not here ends its ranks when its launcher
// misses us there (silence, link grace), or as an orphan; and that takes its graces.
static uint64_t outlive_ms(const struct job *j)
{
    return job_return_outlive_ms(j) + j->opts->grace_ms;
}

static void set_fences(struct job *j)
{
    uint64_t until = loop_now_ms() + outlive_ms(j);
    uint32_t member;
    for (uint32_t i = 0; claim_missing(j->claim->claim, i, &member) != NULL; i++) {
        if (member == UINT32_MAX)
            j->claim->fence_ms = until;
        else
            j->at->seats[member].fence_ms = until;
    }
}

uint64_t job_claim_fence(const struct job *j)
{
    return j->claim != NULL ? j->claim->fence_ms : 0;
}

static bool take_over(struct job *j, const Muster__Record *last)
{
    job_attempt_destroy(j->at);
    j->at = job_attempt_create(j, last->progress->attempt);
    if (!j->opts->adopt)
        set_fences(j);
    return job_record_inherit(j, last);
}

static void reign(struct job *j)
{
    const Muster__Record *last = claim_last(j->claim->claim);
    bool goes_on = !claim_begins_anew(j->claim->claim);
    if (goes_on && !take_over(j, last))
        return;
    if (!goes_on) {
        job_attempt_destroy(j->at);
        j->at = job_attempt_create(j, 0);
    }
    events_write(j->conf.events, "claimed",
                 jsonpack("{s:s, s:i, s:i}", "job", j->key, "term", (int)j->term,
                          "attempt", (int)j->at->number + 1));
    job_event(j, goes_on ? JOB_EV_AGAIN : JOB_EV_CLAIMED);
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

static void leave_spent(struct job *j)
{
    verdict_free(&j->verdict);
    verdict_set(
        &j->verdict, VERDICT_ORDER, VERDICT_OWN_FAILURE,
        "job %s cannot be claimed: its agents know term %u, the last one that "
        "there is; start its agents anew (they forget it), or give another --job",
        j->key, CLAIM_TERM_MAX);
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
    CLEANUP_FREE struct claim_member *m = list_members(j);
    if (claim_state(j->claim->claim) == CLAIM_ASKING)
        return;
    switch (claim_judge(j->claim->claim, m, j->claim->late)) {
    case CLAIM_ASKING: ask(j); break;
    case CLAIM_OVER: leave_done(j); break;
    case CLAIM_SPENT: leave_spent(j); break;
    case CLAIM_SHORT: loop_timer_arm(j->claim->timer, LOOK_MS); break;
    default: break;
    }
}

// Nobody who is here tells of the job, and who does may be below somebody who is not.
static void seek(struct job *j)
{
    if ((j->state != JOB_CONNECT && j->state != JOB_CLAIM) || !job_claim_is_blind(j))
        return;
    job_exchange_seek(j);
    loop_timer_arm(j->claim->timer, LOOK_MS);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    seek(j);
    if (j->state != JOB_CLAIM)
        return;
    switch (claim_state(j->claim->claim)) {
    case CLAIM_SHORT:
        job_exchange(j);
        send_all(j, FRAME_RECORD);
        break;
    case CLAIM_LOOKING: judge(j); break;
    default: break;
    }
}

// Do agents tell of a job that goes on, or is over? A new one waits for all of its members.
static void look(struct job *j)
{
    if (j->state == JOB_CONNECT && j->claim->late && claim_is_known(j->claim->claim))
        job_connect_late(j, claim_best(j->claim->claim)->progress);
}

// Agents that sshd starts remember nothing.
bool job_claim_may_go_on(const struct job *j)
{
    return j->claim != NULL && j->via == NULL &&
           (!j->claim->late || claim_is_known(j->claim->claim));
}

static void on_patience(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    j->claim->late = true;
    look(j);
    if (!job_claim_may_go_on(j))
        job_connect_refused(j);
    if (j->state == JOB_CLAIM)
        judge(j);
    seek(j);
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

// An agent has said something, or is lost. What follows depends on the job's state: before
// CLAIM it is whether that can begin, and after it only a rival is news.
static void act(struct job *j, enum claim_state before, enum claim_state now)
{
    if (now == CLAIM_DEPOSED) {
        if (j->state < JOB_CLOSE && before != CLAIM_DEPOSED)
            leave_deposed(j);
    } else if (j->state == JOB_CONNECT) {
        look(j);
    } else if (now == CLAIM_REIGNS && before == CLAIM_ASKING) {
        if (j->state == JOB_CLAIM) // else it was made again
            reign(j);
        job_muster_check(j);
    } else if (j->state == JOB_MUSTER || j->state == JOB_PREPARE) {
        job_muster_check(j);
    } else if (j->state != JOB_CLAIM) {
        return;
    } else if (now == CLAIM_LOOKING && before == CLAIM_ASKING) {
        log_debug(j->conf.log, "term %u was claimed by two launchers", j->term);
        loop_timer_arm(j->claim->timer, RIVAL_MIN_MS + random_ms(RIVAL_SPAN_MS));
    } else if (now == CLAIM_LOOKING || now == CLAIM_SHORT) {
        judge(j);
    }
}

// Without a key an agent denies only what it has given to another job.
static void leave_displaced(struct job *j, const struct frame *f)
{
    if (f->kind != FRAME_DENY || j->state >= JOB_CLOSE)
        return;
    Muster__Record *m = msg_unpack(f, &muster__record__descriptor, NULL);
    if (m == NULL)
        return;
    CLEANUP_FREE char *name = group_member_text(group_at(&j->group, f->src));
    verdict_free(&j->verdict);
    verdict_set(
        &j->verdict, VERDICT_ORDER, VERDICT_OWN_FAILURE,
        "member %s was given to another launcher, on %s, while this one did not "
        "answer (was it stopped, or cut off?): this one stands down",
        name, m->host);
    msg_free(m);
    job_event(j, JOB_EV_LEAVE);
}

void job_claim_frame(struct job *j, const struct frame *f)
{
    if (j->claim == NULL) {
        leave_displaced(j, f);
        return;
    }
    struct claim *c = j->claim->claim;
    uint32_t member = group_member_of(&j->group, f->src);
    enum claim_state before = claim_state(c), now = before;
    Muster__Record *m = NULL;
    if (f->kind == FRAME_GRANT)
        now = claim_granted(c, member, f->term);
    else if ((m = msg_unpack(f, &muster__record__descriptor, NULL)) != NULL)
        now = f->kind == FRAME_DENY ? claim_denied(c, member, m)
                                    : claim_record(c, member, m);
    msg_free(m);
    act(j, before, now);
}

void job_claim_lost(struct job *j, uint32_t vertex)
{
    if (j->claim == NULL)
        return;
    enum claim_state before = claim_state(j->claim->claim);
    enum claim_state now =
        claim_lost(j->claim->claim, group_member_of(&j->group, vertex));
    if (now != before)
        act(j, before, now);
}

// ---- texts ------------------------------------------------------------------------------

static char *silent_text(const struct job *j)
{
    const struct claim *c = j->claim->claim;
    bool asked = claim_state(c) == CLAIM_ASKING;
    BUF_AUTO who = BUF_INIT;
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->group.n; i++) {
        if (claim_answered(c, i) || (asked && j->group.v[i].state != GROUP_ATTACHED))
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
    return xstrdup("");
}

// ---- attempts ---------------------------------------------------------------------------

bool job_claim_lacks(const struct job *j)
{
    return j->claim != NULL && claim_lacks(j->claim->claim, j->claim->late);
}

bool job_claim_pins(const struct job *j, uint32_t member)
{
    return j->claim != NULL && claim_pins(j->claim->claim, member);
}

bool job_claim_is_blind(const struct job *j)
{
    return job_claim_lacks(j) && claim_state(j->claim->claim) == CLAIM_LOOKING;
}

bool job_claim_holds(const struct job *j)
{
    return j->claim != NULL && !j->claim->left &&
           claim_state(j->claim->claim) == CLAIM_REIGNS;
}

void job_claim_renew(struct job *j)
{
    if (j->claim == NULL || !claim_outbid(j->claim->claim))
        return;
    if (claim_again(j->claim->claim) == CLAIM_SPENT)
        leave_spent(j);
    else
        ask(j);
}

char *job_claim_veto(const struct job *j)
{
    const struct claim *c = j->claim != NULL ? j->claim->claim : NULL;
    if (c == NULL)
        return NULL;
    if (claim_state(c) != CLAIM_REIGNS)
        return silent_text(j);
    if (claim_can_go(c))
        return NULL;
    return xstrdup(
        "less than half of the members that had positions before are here: "
        "another launcher may have the others (--adopt goes on all the same)");
}

void job_claim_prepared(struct job *j)
{
    CLEANUP_FREE uint32_t *seats = xcalloc(j->map.npositions, sizeof *seats);
    for (uint32_t i = 0; i < j->map.npositions; i++)
        seats[i] = j->map.positions[i].member;
    if (j->claim != NULL)
        claim_prepared(j->claim->claim, j->at->number, seats, j->map.npositions);
}

void job_claim_ready(struct job *j, uint32_t vertex)
{
    if (j->claim != NULL)
        claim_acked(j->claim->claim, group_member_of(&j->group, vertex), j->at->number);
}

bool job_claim_may_go(const struct job *j)
{
    return j->claim == NULL || claim_may_go(j->claim->claim);
}

void job_claim_gone(struct job *j)
{
    if (j->claim != NULL)
        claim_gone(j->claim->claim);
}

// ---- the end ----------------------------------------------------------------------------

// Has the job ended, and not only this launcher? Who is interrupted may come again and go on;
// where no rank has run yet there is nothing to remember.
static bool has_ended(const struct job *j)
{
    bool called_off = j->interrupts > 0 || job_roles_are_orphaned(j);
    return job_claim_holds(j) && j->began && !(j->verdict.failed && called_off);
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
    job_record_tell(
        j); // a launcher that has taken the job over may have told nothing so far
    job_send(j, FRAME_DONE, TREE_ALL, &m.base);
}
