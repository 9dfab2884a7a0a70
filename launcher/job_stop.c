// The end of an attempt: STOP goes to all members, and each proves that no rank is left.
//
// pre-stop signal (--pre-stop-signal), SIGTERM, --grace, SIGKILL are the keepers' to send
// (agent/keeper.h). The pre-stop is for a last checkpoint, which is all ranks' work: it is
// left out where one of them is gone, as the others would only wait for it.
#include <signal.h>
#include <string.h>

#include <event2/event.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "launcher/input.h"
#include "launcher/job_internal.h"

enum {
    KILL_BOUND_MS = 5000,  // a keeper's bound after SIGKILL
    STOP_MARGIN_MS = 9000, // an agent kills a keeper that does not answer, and hunts
    SETTLE_MS = 500,       // a loss can be heard after the errors that it caused
};

bool job_settling(const struct job *j)
{
    return j->state == JOB_STOP && j->verdict.failed && j->opts->grace_ms > 0 &&
           loop_now_ms() < j->stop_ms + SETTLE_MS;
}

// All ranks run, and none of their members was lost.
static bool can_answer(const struct job *j)
{
    if (j->run_ms == 0 || j->at->exited > 0)
        return false;
    for (uint32_t i = 0; i < j->group.n; i++)
        if (j->at->seats[i].hosts && j->group.v[i].state != GROUP_ATTACHED)
            return false;
    return true;
}

static void tell_pre_stop(struct job *j)
{
    const char *name = sigabbrev_np((int)j->opts->pre_stop_signal);
    j->at->pre_stop_until_ms = loop_now_ms() + j->opts->pre_stop_ms;
    log_info(j->conf.log, "ranks get SIG%s for a last checkpoint, %g s at most", name,
             j->opts->pre_stop_ms / 1e3);
    events_write(j->conf.events, "pre-stop",
                 jsonpack("{s:i, s:s, s:f}", "attempt", (int)j->at->number, "signal",
                          name, "bound", j->opts->pre_stop_ms / 1e3));
}

static void send_stop(struct job *j, uint32_t grace_ms, bool pre_stop)
{
    Muster__Stop stop = MUSTER__STOP__INIT;
    stop.grace_ms = grace_ms;
    if (pre_stop) {
        stop.pre_stop_signal = j->opts->pre_stop_signal;
        stop.pre_stop_ms = j->opts->pre_stop_ms;
    }
    job_send(j, FRAME_STOP, TREE_ALL, &stop.base);
    loop_timer_arm(j->stop_timer,
                   stop.pre_stop_ms + grace_ms + KILL_BOUND_MS + STOP_MARGIN_MS);
}

void job_stop_begin(struct job *j)
{
    input_destroy(j->input);
    j->input = NULL;
    job_wait_end(j);
    j->stop_ms = loop_now_ms();
    // After a good end what is left (a rank's grandchildren) has nothing to save.
    bool saves = j->verdict.failed && j->interrupts < 2;
    bool pre_stop = saves && j->opts->pre_stop_signal != 0 && can_answer(j);
    if (pre_stop)
        tell_pre_stop(j);
    send_stop(j, saves ? j->opts->grace_ms : 0, pre_stop);
    if (j->at->stopped == j->at->hosts)
        job_stopped(j);
}

void job_stop_without_pre_stop(struct job *j)
{
    if (j->state != JOB_STOP || loop_now_ms() >= j->at->pre_stop_until_ms)
        return;
    j->at->pre_stop_until_ms = 0;
    send_stop(j, j->opts->grace_ms, false);
}

void job_stop_now(struct job *j)
{
    if (j->state != JOB_STOP)
        return;
    j->at->pre_stop_until_ms = 0;
    send_stop(j, 0, false);
}

void job_stopped(struct job *j)
{
    if (j->state != JOB_STOP)
        return;
    job_event(j, job_muster_is_due(j) ? JOB_EV_AGAIN : JOB_EV_STOPPED);
}

// No proof from some members: they are named, and left.
void job_stop_over(struct job *j)
{
    for (uint32_t i = 0; i < j->group.n; i++) {
        if (!j->at->seats[i].hosts || j->at->seats[i].stopped)
            continue;
        CLEANUP_FREE char *name = group_member_text(&j->group.v[i]);
        log_warn(j->conf.log,
                 "member %s gave no proof that its ranks are gone; it was left", name);
        j->at->unproven = true;
    }
    for (uint32_t r = 0; r < j->at->nranks; r++)
        job_rank_gone(j, r, "no answer");
    job_stopped(j);
}

char *job_stop_text(const struct job *j)
{
    CLEANUP_FREE char *who = job_unproven_text(j);
    uint64_t now = loop_now_ms(), until = j->at->pre_stop_until_ms;
    if (until > now)
        return xasprintf("the ranks' last checkpoint on %s (--pre-stop-signal, %.1f s "
                         "more at most)",
                         who, (double)(until - now) / 1e3);
    return xasprintf("the proof that no rank is left on %s (--grace %g s)", who,
                     j->opts->grace_ms / 1e3);
}

// ---- the proofs -----------------------------------------------------------------

static json_t *texts_of(char *const *v, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, jsonpack_text(v[i]));
    return list;
}

static void tell_proof(struct job *j, const struct group_member *m,
                       const Muster__Stopped *s)
{
    CLEANUP_FREE char *name = group_member_text(m);
    for (size_t i = 0; i < s->n_leftovers; i++)
        log_warn(j->conf.log,
                 "member %s: process %s outlived SIGKILL and was left; the "
                 "node needs a look",
                 name, s->leftovers[i]);
    for (size_t i = 0; i < s->n_findings; i++)
        log_warn(j->conf.log, "member %s: after the ranks' end: %s", name,
                 s->findings[i]);
    events_write(j->conf.events, "stopped",
                 jsonpack("{s:s, s:i, s:s, s:o, s:o, s:f, s:i}", "member",
                          m->member->name, "leftovers", (int)s->n_leftovers, "why",
                          s->why, "processes", texts_of(s->leftovers, s->n_leftovers),
                          "findings", texts_of(s->findings, s->n_findings), "seconds",
                          (double)s->took_ms / 1e3, "killed", (int)s->killed));
}

// Nobody asked: no exits may have been told.
static void ended_by_itself(struct job *j, uint32_t vertex, const char *why)
{
    if (job_attempt_lives(j) || job_settling(j))
        job_member_failed(j, vertex, VERDICT_LOSS, VERDICT_OWN_FAILURE, why);
    uint32_t member = group_member_of(&j->group, vertex);
    for (uint32_t r = 0; r < j->at->nranks; r++)
        if (j->at->ranks[r].member == member)
            job_rank_gone(j, r, why);
}

void job_stop_proof(struct job *j, uint32_t vertex, const Muster__Stopped *s)
{
    struct group_member *m = group_at(&j->group, vertex);
    struct job_seat *seat = job_seat(j, vertex);
    if (seat->stopped || !seat->hosts)
        return;
    seat->stopped = true;
    j->at->stopped++;
    tell_proof(j, m, s);
    if (s->n_leftovers > 0)
        job_spares_blame(j, group_member_of(&j->group, vertex), s->leftovers[0]);
    seat->leaves = seat->leaves || s->leaves || seat->replaced;
    if (s->leaves)
        group_set_why(m, s->why);
    if (s->why[0] != '\0')
        ended_by_itself(j, vertex, s->why);
    if (j->at->stopped == j->at->hosts)
        job_stopped(j);
}
