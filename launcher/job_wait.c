// What a launch waits for: its bound, and the line that names it.
#include <event2/event.h>

#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/source.h"
#include "launcher/job_internal.h"

enum {
    TICK_MS = 100,
    PREPARE_BOUND_MS = 60000, // above the agents' own bounds, which say more
    START_BOUND_MS = 60000,
    SILENT_SHOWN = 3,
};

// PREPARE: all are ready, and the next launcher could still miss it (wire/claim.h).
static bool lacks_notes(const struct job *j)
{
    return j->state == JOB_PREPARE && j->at->ready == j->map.npositions &&
           !job_claim_may_go(j);
}

// What is being waited for, in words.
static char *waiting_text(const struct job *j)
{
    BUF_AUTO text = BUF_INIT;
    uint32_t want = j->opts->members > j->group.n ? j->opts->members : j->group.n;
    if (j->state == JOB_MUSTER)
        return job_muster_text(j);
    if (j->state == JOB_CLAIM)
        return job_claim_text(j);
    if (j->state == JOB_INSPECT)
        return job_inspect_text(j);
    buf_printf(&text, "members %u/%u found, %u connected", group_found(&j->group), want,
               group_attached(&j->group));
    if (j->state > JOB_CONNECT) {
        uint64_t fences = job_return_fences(j), now = loop_now_ms();
        buf_printf(&text, ", %u/%u ready", j->at->ready, j->map.npositions);
        if (j->state == JOB_PREPARE && fences > now)
            buf_printf(
                &text,
                "; the ranks start in %.1f s, when the agents that were lost have "
                "ended theirs",
                (double)(fences - now) / 1e3);
        if (lacks_notes(j))
            buf_printf(&text, "; waiting until half of the members that had positions "
                              "before have noted it");
        if (j->state == JOB_START)
            buf_printf(&text, ", ranks started on %u", j->at->started);
        return buf_steal_str(&text);
    }
    if (j->state == JOB_CONNECT && group_attached(&j->group) == j->group.n &&
        job_roles_are_awaited(j)) {
        buf_printf(&text, "; waiting for the members of the other roles");
        return buf_steal_str(&text);
    }
    enum group_state below = j->state == JOB_DISCOVER ? GROUP_FOUND : GROUP_ATTACHED;
    BUF_AUTO missing = BUF_INIT;
    group_describe_missing(&j->group, below, 3, &missing);
    if (buf_len(&missing) > 0) {
        CLEANUP_FREE char *m = buf_steal_str(&missing);
        buf_printf(&text, "; waiting for %s", m);
    } else if (want > j->group.n) {
        const struct strv *w = &j->group.members.warnings;
        CLEANUP_FREE char *source = source_describe(&j->opts->source);
        buf_printf(&text, "; waiting for %u more in %s", want - j->group.n, source);
        if (w->n > 0)
            buf_printf(&text, " (%s)", w->v[w->n - 1]);
    }
    return buf_steal_str(&text);
}

char *job_unproven_text(const struct job *j)
{
    BUF_AUTO text = BUF_INIT;
    unsigned n = 0;
    for (uint32_t i = 0; i < j->group.n; i++) {
        if (!j->at->seats[i].hosts || j->at->seats[i].stopped)
            continue;
        CLEANUP_FREE char *name = group_member_text(&j->group.v[i]);
        if (n++ < SILENT_SHOWN)
            buf_printf(&text, "%s%s", n > 1 ? ", " : "", name);
    }
    if (n > SILENT_SHOWN)
        buf_printf(&text, " and %u more", n - SILENT_SHOWN);
    return buf_steal_str(&text);
}

char *job_wait_text(const struct job *j)
{
    switch (j->state) {
    case JOB_RUN:
    case JOB_DONE: return NULL;
    case JOB_STOP: return job_stop_text(j);
    case JOB_DRAIN: return xstrdup("the end of the ranks' output, and its readers");
    case JOB_CLOSE: return xstrdup("the agents' good-bye");
    default: return waiting_text(j);
    }
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    CLEANUP_FREE char *text = waiting_text(j);
    progress_show(j->progress, loop_now_ms(), text);
    loop_timer_arm(j->tick, TICK_MS);
}

// "train-2 (10.0.0.5), train-3 (10.0.0.6)": positions whose member has not said so.
static char *silent_members(const struct job *j)
{
    BUF_AUTO text = BUF_INIT;
    unsigned shown = 0, more = 0;
    for (uint32_t i = 0; i < j->map.npositions; i++) {
        uint32_t member = j->map.positions[i].member;
        const struct group_member *m = &j->group.v[member];
        const struct job_seat *seat = &j->at->seats[member];
        if (j->state == JOB_PREPARE ? seat->ready : seat->started)
            continue;
        CLEANUP_FREE char *name = group_member_text(m);
        if (shown < SILENT_SHOWN)
            buf_printf(&text, "%s%s", shown++ > 0 ? ", " : "", name);
        else
            more++;
    }
    if (more > 0)
        buf_printf(&text, " and %u more", more);
    return buf_steal_str(&text);
}

static void on_wait_over(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    uint64_t now = loop_now_ms();
    uint64_t fences = j->state == JOB_PREPARE ? job_return_fences(j) : 0;
    if (fences > now && j->at->ready == j->map.npositions) { // only GO waits
        loop_timer_arm(j->wait_timer, fences - now + PREPARE_BOUND_MS);
        return;
    }
    if (lacks_notes(j)) {
        job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE,
                 "all ranks were prepared, but within %d s less than half of the "
                 "members that had positions before have noted it: another launcher "
                 "may have them (--adopt goes on all the same)",
                 PREPARE_BOUND_MS / 1000);
        return;
    }
    if (j->state == JOB_PREPARE || j->state == JOB_START) {
        bool prepare = j->state == JOB_PREPARE;
        CLEANUP_FREE char *who = silent_members(j);
        job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE,
                 "the ranks were not %s within %d s by %s; look at the musterd there",
                 prepare ? "prepared" : "started",
                 (prepare ? PREPARE_BOUND_MS : START_BOUND_MS) / 1000, who);
        return;
    }
    if (j->state == JOB_MUSTER) {
        job_muster_over(j);
        return;
    }
    if (j->state == JOB_INSPECT) {
        job_inspect_over(j);
        return;
    }
    if (job_connect_over(j))
        return;
    CLEANUP_FREE char *text = waiting_text(j);
    job_fail(j, VERDICT_ORDER, VERDICT_OWN_FAILURE, "gave up after %u s (--wait): %s",
             j->opts->wait_ms / 1000, text);
}

void job_wait_create(struct job *j)
{
    j->progress = progress_create(2, j->opts->quiet);
    j->wait_timer = loop_timer(j->conf.base, on_wait_over, j);
    j->tick = loop_timer(j->conf.base, on_tick, j);
}

static uint32_t bound_ms(const struct job *j)
{
    switch (j->state) {
    case JOB_MUSTER: return job_muster_bound_ms(j);
    case JOB_INSPECT: return job_inspect_bound_ms(j);
    case JOB_PREPARE: return PREPARE_BOUND_MS;
    case JOB_START: return START_BOUND_MS;
    default: return j->opts->wait_ms;
    }
}

void job_wait_begin(struct job *j)
{
    loop_timer_arm(j->wait_timer, bound_ms(j));
    loop_timer_arm(j->tick, TICK_MS);
}

void job_wait_end(struct job *j)
{
    loop_timer_disarm(j->wait_timer);
    loop_timer_disarm(j->tick);
    progress_clear(j->progress);
}

void job_wait_destroy(struct job *j)
{
    loop_timer_free(j->wait_timer);
    loop_timer_free(j->tick);
    progress_destroy(j->progress);
}
