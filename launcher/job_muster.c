// From a stopped attempt to the next one: whether, when, and on whom.
//
// MUSTER ends when every position's member, or a spare for it, is attached by a connection that is
// whole, the claim allows another attempt, the pause between restarts is over, and the old ranks'
// last words are there (or had their time). A launcher that takes a job over begins with it.
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "launcher/job_internal.h"
#include "launcher/oneline.h"

enum {
    LAST_WORDS_MS = 2000,    // for what old ranks printed and nobody has read yet
    REASON_MAX = 1000,       // bytes; it goes into the ranks' environment
    PREPARE_AHEAD_MS = 5000, // of the fence's end: only GO has to wait for it
    SHOWN = 3,
    HISTORY_SHOWN = 10, // the last ones
};

// ---- whether --------------------------------------------------------------------

// What no budget helps against.
static bool cannot(const struct job *j, struct err *why)
{
    if (j->at->unproven)
        err_set(why, "it is not restarted, as some of its ranks may still run");
    return why->text != NULL;
}

bool job_muster_is_due(struct job *j)
{
    ERR_AUTO why = ERR_INIT;
    uint32_t pause = 0;
    uint64_t now = loop_now_ms();
    struct policy_failure f = {.now_ms = now,
                               .ran_ms = j->run_ms > 0 ? now - j->run_ms : 0,
                               .order = j->verdict.strength == VERDICT_ORDER,
                               .rank = j->verdict.rank,
                               .code = j->verdict.code};
    if (!j->verdict.failed)
        return false;
    if (j->opts->policy.on_failure == POLICY_RESTART && !f.order && cannot(j, &why))
        f.order = true;
    if (policy_judge(j->policy, &f, &pause, &why)) {
        j->pause_ms = now + pause;
        return true;
    }
    if (why.text != NULL) {
        CLEANUP_FREE char *before = j->verdict.text;
        j->verdict.text = xasprintf("%s; %s", before, err_text(&why));
    }
    return false;
}

// ---- waiting --------------------------------------------------------------------

// Its connection is broken: it is back, or lost, within --link-grace. Until then it would not hear
// that it is prepared, and its loss would cost the attempt.
static bool is_in_doubt(const struct job *j, uint32_t member)
{
    return j->group.v[member].state == GROUP_ATTACHED && job_roll_is_broken(j, member);
}

static const char *why_vacant(const struct job *j, uint32_t member)
{
    const char *why = j->group.v[member].why;
    return is_in_doubt(j, member) ? "its connection is lost, and may come back"
           : why != NULL          ? why
                                  : "no answer yet";
}

// Positions without a member that could be prepared, nor a spare; *text names some of them, and with
// `why` what is known of each.
static uint32_t vacant(const struct job *j, bool why, struct buf *text)
{
    uint32_t n = 0;
    CLEANUP_FREE uint32_t *seats = xcalloc(j->map.npositions, sizeof *seats);
    job_spares_plan(j, seats);
    for (uint32_t i = 0; i < j->map.npositions; i++) {
        const struct group_member *m = &j->group.v[seats[i]];
        if (m->state == GROUP_ATTACHED && !j->at->seats[seats[i]].leaves &&
            !is_in_doubt(j, seats[i]))
            continue;
        CLEANUP_FREE char *name = group_member_text(m);
        if (n++ < SHOWN)
            buf_printf(text, "%s%s", n == 1 ? "" : why ? "; " : ", ", name);
        if (n <= SHOWN && why)
            buf_printf(text, ": %s", why_vacant(j, seats[i]));
    }
    if (n > SHOWN)
        buf_printf(text, " and %u more", n - SHOWN);
    return n;
}

static uint64_t left(uint64_t until_ms)
{
    uint64_t now = loop_now_ms();
    return until_ms > now ? until_ms - now : 0;
}

static uint64_t longer_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

char *job_muster_text(const struct job *j)
{
    BUF_AUTO text = BUF_INIT;
    uint64_t fence = left(job_return_fences(j)), pause = left(j->pause_ms);
    uint32_t next = j->at->number + 1;
    if (vacant(j, true, &text) > 0) {
        CLEANUP_FREE char *who = buf_steal_str(&text);
        return xasprintf("attempt %u waits for %s", next, who);
    }
    CLEANUP_FREE char *veto = job_claim_veto(j);
    if (veto != NULL)
        return xasprintf("attempt %u waits: %s", next, veto);
    return xasprintf("attempt %u begins in %.1f s%s", next,
                     (double)longer_of(fence, pause) / 1e3,
                     fence > pause ? ", when the agents that were lost have ended "
                                     "their ranks"
                                   : "");
}

uint32_t job_muster_bound_ms(const struct job *j)
{
    return (uint32_t)left(j->round_ms + j->opts->replace_timeout_ms);
}

// The cause, of an attempt that could not begin.
static void fail_late(struct job *j, const char *how, const char *why)
{
    const char *before = j->reason != NULL ? j->reason : "";
    job_fail(j, VERDICT_LOSS, j->reason != NULL ? j->reason_code : VERDICT_OWN_FAILURE,
             "%s%sattempt %u %s within %g s (--replace-timeout): %s", before,
             before[0] != '\0' ? "; " : "", j->at->number + 1, how,
             j->opts->replace_timeout_ms / 1e3, why);
}

void job_muster_over(struct job *j)
{
    BUF_AUTO text = BUF_INIT;
    uint32_t n = vacant(j, true, &text);
    CLEANUP_FREE char *veto = n == 0 ? job_claim_veto(j) : NULL;
    if (n == 0 && veto == NULL) { // it is only the pause that is long
        loop_timer_arm(j->wait_timer,
                       j->opts->replace_timeout_ms +
                           longer_of(left(j->pause_ms), left(job_return_fences(j))));
        return;
    }
    CLEANUP_FREE char *who = buf_steal_str(&text);
    fail_late(j, n > 0 ? "had no member for every position" : "could not begin",
              n > 0 ? who : veto);
}

// Has every position a member, or a spare for it?
static bool is_staffed(const struct job *j)
{
    BUF_AUTO text = BUF_INIT;
    return vacant(j, false, &text) == 0;
}

bool job_muster_is_whole(const struct job *j)
{
    CLEANUP_FREE char *veto = job_claim_veto(j);
    return is_staffed(j) && veto == NULL;
}

bool job_muster_gathers(const struct job *j)
{
    return j->state == JOB_MUSTER || j->state == JOB_INSPECT;
}

// Before the next attempt is prepared. A loss meanwhile costs no restart.
static uint64_t muster_left(const struct job *j)
{
    bool ended = j->output == NULL || output_is_ended(j->output);
    uint64_t words = ended ? 0 : left(j->last_words_ms);
    uint64_t fence = left(job_return_fences(j));
    fence = fence > PREPARE_AHEAD_MS ? fence - PREPARE_AHEAD_MS : 0;
    return longer_of(words, longer_of(left(j->pause_ms), fence));
}

static bool is_mustered(const struct job *j)
{
    return j->state == JOB_MUSTER && job_muster_is_whole(j);
}

static bool is_ready(const struct job *j)
{
    return j->state == JOB_PREPARE && j->at->ready == j->map.npositions &&
           job_claim_may_go(j);
}

static void on_muster(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    job_exchange(j);
    // Not before: whoever is still missing may be another one's by then, too.
    if (j->state == JOB_MUSTER && is_staffed(j))
        job_claim_renew(j);
    if (!is_mustered(j) && !is_ready(j))
        return;
    bool ready = is_ready(j);
    uint64_t more = ready ? left(job_return_fences(j)) : muster_left(j);
    if (more > 0)
        loop_timer_arm(j->muster_timer, more);
    else
        job_event(j, ready ? JOB_EV_READY : JOB_EV_MUSTERED);
}

void job_muster_check(struct job *j)
{
    if (j->state == JOB_MUSTER || j->state == JOB_PREPARE)
        loop_timer_arm(j->muster_timer, 0);
}

// ---- entering -------------------------------------------------------------------

static char *next_text(double pause_s, uint32_t n, const char *who)
{
    return n > 0 ? xasprintf("begins when %s %s back", who, n == 1 ? "is" : "are")
           : pause_s > 0 ? xasprintf("begins in %.1f s", pause_s)
                         : xstrdup("begins");
}

static void tell(struct job *j, bool failed)
{
    BUF_AUTO text = BUF_INIT;
    uint32_t n = vacant(j, false, &text), number = j->at->number;
    double pause_s = (double)left(j->pause_ms) / 1e3;
    CLEANUP_FREE char *who = buf_steal_str(&text);
    CLEANUP_FREE char *next = next_text(pause_s, n, who);
    if (!failed) {
        log_warn(j->conf.log, "job %s: %s; attempt %u %s", j->key, j->reason,
                 number + 1, next);
        return;
    }
    events_write(j->conf.events, "attempt-failed",
                 jsonpack("{s:i, s:s, s:i, s:i, s:f}", "attempt", (int)number, "cause",
                          j->reason, "code", j->reason_code, "vacant", (int)n, "pause",
                          pause_s));
    log_warn(j->conf.log, "attempt %u failed: %s; attempt %u %s", number, j->reason,
             number + 1, next);
}

static void note_failure(struct job *j)
{
    free(j->reason);
    j->reason = oneline(j->verdict.text, REASON_MAX);
    j->reason_code = j->verdict.code;
    strv_addf(&j->history, "attempt %u failed after %.1f s: %s", j->at->number,
              j->run_ms > 0 ? (double)(loop_now_ms() - j->run_ms) / 1e3 : 0, j->reason);
}

// Out of INSPECT: others have to come. When this goes on for too long, it may be since they
// come and go.
static void begin_again(struct job *j)
{
    CLEANUP_FREE char *owed = job_muster_is_whole(j) ? job_inspect_owed(j) : NULL;
    CLEANUP_FREE char *text =
        owed != NULL ? xasprintf("attempt %u waits for the inspection of %s",
                                 j->at->number + 1, owed)
                     : job_muster_text(j);
    if (job_muster_bound_ms(j) == 0) {
        fail_late(j, "had no members that stayed and were fit", text);
        return;
    }
    log_warn(j->conf.log, "%s", text);
    job_record_changed(j);
    job_wait_begin(j);
    job_muster_check(j);
}

void job_muster_begin(struct job *j)
{
    if (j->round_ms > 0) {
        begin_again(j);
        return;
    }
    j->round_ms = loop_now_ms();
    bool failed = j->verdict.failed; // else a launcher before had the attempt
    loop_timer_disarm(j->stop_timer);
    if (failed) {
        note_failure(j);
        job_roles_again(j);
    }
    job_spares_begin(j);
    verdict_free(&j->verdict);
    j->last_words_ms = loop_now_ms() + LAST_WORDS_MS;
    job_end_unstarted(j);
    tell(j, failed);
    job_record_changed(j);
    job_wait_begin(j);
    job_muster_check(j);
}

void job_muster_next(struct job *j)
{
    struct job_attempt *before = j->at;
    job_spares_take(j);
    if (j->output != NULL && !output_is_ended(j->output))
        log_warn(j->conf.log, "attempt %u: the end of its output did not come in time",
                 before->number);
    j->at = job_attempt_create(j, before->number + 1);
    for (uint32_t i = 0; i < j->group.n; i++) { // until another agent comes
        j->at->seats[i].replaced = before->seats[i].replaced;
        j->at->seats[i].leaves = before->seats[i].leaves;
        j->at->seats[i].fence_ms = before->seats[i].fence_ms; // GO waits for it
        j->at->seats[i].back = before->seats[i].back;
        j->at->seats[i].moved = before->seats[i].moved; // while the fence counts
        j->at->seats[i].hung_up = before->seats[i].hung_up;
    }
    job_attempt_destroy(before);
    j->run_ms = 0;
    j->printed_before += j->printed;
    j->printed = 0;
    if (j->reason != NULL)
        events_write(
            j->conf.events, "attempt",
            jsonpack("{s:i, s:s}", "attempt", (int)j->at->number, "reason", j->reason));
}

void job_muster_create(struct job *j)
{
    j->muster_timer = loop_timer(j->conf.base, on_muster, j);
}

void job_muster_tell(struct job *j)
{
    uint32_t attempts = j->at != NULL ? j->at->number : 0, restarts = attempts - 1;
    if (attempts < 2)
        return;
    CLEANUP_FREE char *end =
        xasprintf("%s at attempt %u, after %u restart%s:",
                  j->verdict.failed ? "gave up" : "ended well", restarts + 1, restarts,
                  restarts == 1 ? "" : "s");
    progress_say(j->progress, end);
    size_t from = j->history.n > HISTORY_SHOWN ? j->history.n - HISTORY_SHOWN : 0;
    for (size_t i = from; i < j->history.n; i++)
        progress_say(j->progress, j->history.v[i]);
}
