// The job: its states, and what entering each of them does.
#include "launcher/job.h"

#include <event2/event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/httpd.h"
#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/source.h"
#include "launcher/input.h"
#include "launcher/job_internal.h"
#include "launcher/job_plan.h"
#include "wire/link_hostkeys.h"
#include "wire/msg.h"

enum {
    DRAIN_BOUND_MS = 10000,      // without any output coming
    INTERRUPTED_DRAIN_MS = 1000, // who interrupts does not wait for a stuck reader
    CLOSE_BOUND_MS = 2000,
    LAST_WORDS = 5, // lines
};

struct frame job_frame(const struct job *j, uint16_t kind, uint32_t dst)
{
    return (struct frame){.kind = kind,
                          .job = j->id,
                          .term = j->term,
                          .attempt = j->at->number,
                          .src = 0,
                          .dst = dst};
}

void job_send(struct job *j, uint16_t kind, uint32_t dst, const ProtobufCMessage *msg)
{
    struct frame f = job_frame(j, kind, dst);
    branch_send_msg(j->branch, &f, msg);
}

void job_fail(struct job *j, enum verdict_strength strength, int code, const char *fmt,
              ...)
{
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    // After the ranks ended well nothing can go wrong any more but the cleaning up.
    bool counts = verdict_set(&j->verdict, strength, code, "%s", text);
    log_debug(j->conf.log, "%s: %s", counts ? "cause" : "after the cause", text);
    if (counts)
        job_event(j, JOB_EV_CAUSE);
}

// ---- entering states --------------------------------------------------------

static void enter_prepare(struct job *j)
{
    job_wait_begin(j);
    job_inspect_prepared(j);
    job_muster_next(j);
    job_spares_seated(j);
    const struct job_plan plan = {j->roll, &j->group, &j->map, j->opts};
    j->at->prepare = job_plan_prepare(&plan, j->at->nspace, j->reason);
    j->at->prepare->progress = job_record_progress(j);
    job_roles_put(j, j->at->prepare);
    job_claim_prepared(j);
    job_add_ranks(j, NULL, &j->map);
    job_coll_start(j);
    job_names_start(j);
    if (j->output != NULL)
        output_again(j->output, j->at->nranks);
    else
        job_output_start(j);
    job_roll_push(j);
    job_send(j, FRAME_PREPARE, TREE_ALL, &j->at->prepare->base);
}

static void enter_start(struct job *j)
{
    Muster__Go go = MUSTER__GO__INIT;
    go.master_address = j->at->prepare->positions[0]->address;
    go.master_port = j->at->master_port;
    j->began = true;
    job_claim_gone(j);
    j->at->went = true;
    job_wait_begin(j);
    job_roles_start(j);
    job_send(j, FRAME_GO, TREE_ALL, &go.base);
}

static void enter_run(struct job *j)
{
    job_wait_end(j);
    j->run_ms = loop_now_ms();
    if (!j->timed) {
        j->timed = true;
        j->timed_ms = j->run_ms;
        if (j->opts->timeout_ms > 0)
            loop_timer_arm(j->run_timer, j->opts->timeout_ms);
    }
    job_record_changed(j);
    job_input_start(j);
}

static uint64_t output_moved(const struct job *j)
{
    return j->printed + output_passed(j->output);
}

static void arm_drain(struct job *j)
{
    if (j->output == NULL) // a launcher before had the ranks
        return;
    bool file = output_waits_for_file(j->output) != NULL;
    j->drained = output_moved(j);
    loop_timer_arm(j->stop_timer, j->interrupts > 0 ? INTERRUPTED_DRAIN_MS
                                  : file            ? JOB_FILE_BOUND_MS
                                                    : DRAIN_BOUND_MS);
}

// Streams of members that are out of reach bring nothing more.
static void enter_drain(struct job *j)
{
    job_wait_end(j);
    loop_timer_disarm(j->run_timer);
    arm_drain(j);
    job_end_unstarted(j);
    if (j->output == NULL || output_is_drained(j->output))
        job_event(j, JOB_EV_DRAINED);
}

static void enter_close(struct job *j)
{
    job_wait_end(j);
    job_roll_end(j);
    job_claim_tell_end(j);
    if (j->branch != NULL)
        branch_close(j->branch);
    loop_timer_arm(j->stop_timer, CLOSE_BOUND_MS);
    if (j->branch == NULL || branch_attached(j->branch) == 0)
        job_event(j, JOB_EV_CLOSED);
}

static void enter_connect(struct job *j)
{
    job_roll_start(j);
    job_connect_start(j);
}

// What the rank that was the cause said last: told with the cause.
static void add_last_words(struct job *j)
{
    BUF_AUTO words = BUF_INIT;
    if (!j->verdict.failed || j->verdict.rank < 0 || j->output == NULL)
        return;
    output_last_words(j->output, (uint32_t)j->verdict.rank, LAST_WORDS, "  | ", &words);
    if (buf_len(&words) == 0)
        return;
    CLEANUP_FREE char *before = j->verdict.text, *last = buf_steal_str(&words);
    j->verdict.text = xasprintf("%s; its last lines on stderr:\n%s", before, last);
}

static void enter_done(struct job *j)
{
    if (!j->verdict.failed && j->lost_output != NULL)
        verdict_set(&j->verdict, VERDICT_LOSS, VERDICT_OWN_FAILURE, JOB_OUTPUT_LOST,
                    j->lost_output);
    loop_timer_disarm(j->stop_timer);
    add_last_words(j);
    job_muster_tell(j);
    j->conf.done(j->conf.arg);
}

static void enter(struct job *j)
{
    switch (j->state) {
    case JOB_CONNECT: enter_connect(j); break;
    case JOB_CLAIM: job_claim_begin(j); break;
    case JOB_MUSTER: job_muster_begin(j); break;
    case JOB_INSPECT: job_inspect_begin(j); break;
    case JOB_PREPARE: enter_prepare(j); break;
    case JOB_START: enter_start(j); break;
    case JOB_RUN: enter_run(j); break;
    case JOB_STOP: job_stop_begin(j); break;
    case JOB_DRAIN: enter_drain(j); break;
    case JOB_CLOSE: enter_close(j); break;
    case JOB_DONE: enter_done(j); break;
    default: break;
    }
}

void job_event(struct job *j, enum job_event ev)
{
    enum job_state to = job_fsm_next(j->state, ev);
    if (to == j->state)
        return;
    log_debug(j->conf.log, "job: %s -- %s --> %s", job_state_name(j->state),
              job_event_name(ev), job_state_name(to));
    events_write(j->conf.events, "state",
                 jsonpack("{s:s, s:s, s:s, s:s?}", "from", job_state_name(j->state),
                          "to", job_state_name(to), "on", job_event_name(ev), "cause",
                          j->verdict.text));
    job_stats_state(j->stats, loop_now_ms(), j->state, to, &j->verdict);
    j->state = to;
    j->state_ms = loop_now_ms();
    enter(j);
    job_roles_tell(j);
}

// ---- bounds -----------------------------------------------------------------

static void on_run_over(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    bool ends = j->state == JOB_STOP && // already, and for good
                !(j->verdict.failed && j->opts->policy.on_failure == POLICY_RESTART);
    if (ends)
        return;
    job_fail(j, VERDICT_ORDER, VERDICT_TIMEOUT,
             "the ranks ran longer than --timeout %g s", j->opts->timeout_ms / 1e3);
}

// A reader of ours that is slow (a pager) may take its time, agents and files may not.
static void drain_is_over(struct job *j)
{
    bool interrupted = j->interrupts > 0;
    if (!interrupted && (output_moved(j) != j->drained || output_waits(j->output))) {
        arm_drain(j);
        return;
    }
    const char *file = output_waits_for_file(j->output);
    CLEANUP_FREE char *why =
        interrupted ? xstrdup("nobody read it after the interrupt")
        : file != NULL
            ? xasprintf("%s took nothing for %d s (does its file system hang?)", file,
                        JOB_FILE_BOUND_MS / 1000)
            : xstrdup("an agent did not send the end of it");
    log_warn(j->conf.log, "output is dropped: %s", why);
    job_output_lost(j, why);
    j->gave_up = true;
    job_event(j, JOB_EV_DRAINED);
}

static void on_stop_over(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    switch (j->state) {
    case JOB_STOP: job_stop_over(j); break;
    case JOB_DRAIN: drain_is_over(j); break;
    default: job_event(j, JOB_EV_CLOSED); break;
    }
}

// ---- create, destroy, signals ------------------------------------------------

static int open_via(struct job *j, struct err *err)
{
    const struct via_opts *o = &j->opts->via;
    if (!o->ssh)
        return 0;
    CLEANUP_FREE char *musterd = local_agent_path(o->push ? err : NULL);
    if (musterd == NULL && o->push)
        return -1;
    j->via_msg = via_opts_message(o, musterd, j->conf.key_dir, err);
    j->via = j->via_msg != NULL ? via_create(j->via_msg, musterd, err) : NULL;
    if (j->via != NULL && j->via_msg->host_keys_mode == LINK_HOSTKEYS_ANY)
        log_warn(j->conf.log, "--host-keys accept: the members' host keys are not "
                              "checked; whoever takes a pod's address can pose as it");
    return j->via != NULL ? 0 : -1;
}

struct job *job_create(const struct job_conf *conf, struct err *err)
{
    struct job *j = xcalloc(1, sizeof *j);
    j->conf = *conf;
    j->opts = conf->opts;
    j->local = conf->opts->source.kind == SOURCE_LOCAL;
    job_claim_name(j);
    j->policy = policy_create(&conf->opts->policy);
    j->begun_ms = j->state_ms = loop_now_ms();
    j->stats = job_stats_create();
    job_wait_create(j);
    job_roles_create(j);
    job_muster_create(j);
    job_inspect_create(j);
    job_pairs_create(j);
    j->stop_timer = loop_timer(conf->base, on_stop_over, j);
    j->run_timer = loop_timer(conf->base, on_run_over, j);
    if (open_via(j, err) < 0 || job_pages_start(j, err) < 0 ||
        job_spares_create(j, err) < 0 || job_discover_start(j, err) < 0) {
        job_destroy(j);
        return NULL;
    }
    job_wait_begin(j);
    return j;
}

void job_destroy(struct job *j)
{
    if (j == NULL)
        return;
    httpd_destroy(j->pages);
    branch_destroy(j->branch);
    via_destroy(j->via);
    msg_free(j->via_msg);
    if (j->local_agent > 0)
        local_agent_end(j->local_agent);
    job_roll_end(j);
    job_claim_destroy(j);
    job_record_destroy(j);
    input_destroy(j->input);
    output_destroy(j->output);
    job_attempt_destroy(j->at);
    msg_free(j->attach);
    map_free(&j->map);
    roll_destroy(j->roll);
    job_spares_destroy(j);
    job_pairs_destroy(j);
    job_inspect_destroy(j);
    job_roles_destroy(j);
    group_free(&j->group);
    job_wait_destroy(j);
    loop_timer_free(j->stop_timer);
    loop_timer_free(j->muster_timer);
    loop_timer_free(j->patience);
    policy_destroy(j->policy);
    job_stats_destroy(j->stats);
    strv_free(&j->history);
    free(j->reason);
    loop_timer_free(j->run_timer);
    loop_timer_free(j->unread);
    verdict_free(&j->verdict);
    strv_free(&j->findings);
    free(j->lost_output);
    free(j->key);
    free(j);
}

void job_interrupt(struct job *j, int signo)
{
    j->interrupts++;
    if (j->interrupts == 1)
        job_fail(j, VERDICT_ORDER, 128 + signo, "interrupted by SIG%s",
                 sigabbrev_np(signo));
    else
        job_stop_now(j);
    if (j->state == JOB_DRAIN)
        loop_timer_arm(j->stop_timer, j->interrupts > 1 ? 0 : INTERRUPTED_DRAIN_MS);
    if (j->interrupts > 2)
        job_event(j, j->state == JOB_STOP ? JOB_EV_STOPPED : JOB_EV_CLOSED);
}

void job_signal(struct job *j, int signo)
{
    Muster__Signal msg = MUSTER__SIGNAL__INIT;
    msg.number = (uint32_t)signo;
    if (j->state == JOB_RUN)
        job_send(j, FRAME_SIGNAL, TREE_ALL, &msg.base);
}

bool job_output_is_left(const struct job *j)
{
    return j->gave_up || j->interrupts > 0;
}

bool job_wants_newline(struct job *j)
{
    return j->output != NULL && output_wants_newline(j->output);
}

int job_code(const struct job *j)
{
    return j->verdict.failed ? j->verdict.code : 0;
}

const char *job_text(const struct job *j)
{
    return j->verdict.text;
}
