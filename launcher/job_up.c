// Frames from below: what agents report of an attempt.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "launcher/input.h"
#include "launcher/job_internal.h"
#include "wire/msg.h"

enum { CLOCKS_MS = 1000 }; // apart, and still of one time

static void all_exited(struct job *j)
{
    if (j->at->exited == j->at->nranks)
        job_event(j, JOB_EV_ENDED);
}

// One more rank of the attempt is gone; false when that was known.
static bool note_exit(struct job *j, uint32_t rank)
{
    if (rank >= j->at->nranks || j->at->ranks[rank].exited)
        return false;
    j->at->ranks[rank].exited = true;
    j->at->exited++;
    if (j->input != NULL)
        input_rank_gone(j->input, rank);
    namestore_proc_gone(j->at->names, job_rank_nspace(j, rank),
                        j->at->ranks[rank].rank);
    return true;
}

static void fail_collectives(struct job *j, uint32_t rank, const char *why)
{
    coll_fail_rank(j->at->colls, job_rank_nspace(j, rank), j->at->ranks[rank].rank, -1,
                   why);
}

static void end_streams(struct job *j, uint32_t rank)
{
    output_eof(j->output, rank, 1);
    output_eof(j->output, rank, 2);
}

void job_rank_gone(struct job *j, uint32_t rank, const char *why)
{
    if (j->output == NULL)
        return;
    if (note_exit(j, rank))
        fail_collectives(j, rank, why);
    end_streams(j, rank);
    all_exited(j);
}

// A rank that ended well without PMIx while others wait for it: in their MPI_Init, or, when
// it was spawned, its parent does. (A spawn can say that it will not use PMIx.)
static bool is_waited_for(const struct job *j, const struct job_rank *r)
{
    if (!r->idle_exit)
        return false;
    return r->world != NULL ? !job_spawn_is_plain(r->world) : j->at->pmix_used;
}

static void check_idle_exits(struct job *j)
{
    for (uint32_t r = 0; r < j->at->nranks; r++) {
        if (!is_waited_for(j, &j->at->ranks[r]))
            continue;
        struct verdict_rank t = job_rank_text(j, r);
        CLEANUP_FREE char *who = verdict_rank_text(&t);
        job_fail(j, VERDICT_ERROR, 1,
                 "%s ended with exit code 0 without MPI_Init while other ranks wait "
                 "for it there",
                 who);
        return;
    }
}

// By the clocks of two machines: a figure, and nothing hangs on it. False: it would be longer than
// the ranks have run, so one of them is wrong.
static bool late_ms(const struct job *j, const Muster__Exited *m, uint64_t *late)
{
    uint64_t now = loop_wall_ms();
    uint64_t since = j->run_ms > 0 ? j->run_ms : j->state_ms;
    *late = m->ended_ms > 0 && now > m->ended_ms ? now - m->ended_ms : 0;
    bool sane = *late <= loop_now_ms() - since + CLOCKS_MS;
    if (!sane)
        *late = 0;
    return sane;
}

static void on_exited(struct job *j, const struct frame *f)
{
    Muster__Exited *m = msg_unpack(f, &muster__exited__descriptor, NULL);
    if (m == NULL || !job_rank_is_at(j, f->src, m->rank) || !note_exit(j, m->rank)) {
        msg_free(m);
        return;
    }
    struct job_rank *rank = &j->at->ranks[m->rank];
    rank->pid = m->pid;
    rank->idle_exit = m->status == 0 && !m->pmix_connected;
    struct verdict_rank t = job_rank_text(j, m->rank);
    uint64_t late;
    bool timed = late_ms(j, m, &late);
    events_write(j->conf.events, "exited",
                 jsonpack("{s:i, s:i, s:s, s:i, s:i, s:f}", "attempt",
                          (int)j->at->number, "rank", (int)m->rank, "member", t.member,
                          "pid", (int)m->pid, "status", (int)m->status, "late",
                          (double)late / 1e3));
    bool bad = m->status != 0 || (m->pmix_connected && !m->pmix_finalized);
    if (job_attempt_lives(j) && bad) {
        if (timed)
            job_stats_heard(j->stats, JOB_STATS_EXIT, late);
        job_notify_ended(j, m->rank,
                         WIFSIGNALED(m->status)
                             ? MUSTER__NOTIFY__ENDED__SIGNALED
                             : MUSTER__NOTIFY__ENDED__WITHOUT_FINALIZE);
    }
    // SIGKILL is not what a stop begins with: somebody else's (the kernel, out of
    // memory).
    bool counts = job_attempt_lives(j) || (job_settling(j) && m->status == SIGKILL);
    if (counts && verdict_exit(&j->verdict, &t, m->status, m->pmix_connected,
                               m->pmix_finalized)) {
        if (m->oom_kills > 0)
            verdict_out_of_memory(&j->verdict, m->rank, m->oom_kills);
        job_event(j, JOB_EV_CAUSE);
    }
    // Whatever it is part of waits for it in vain now; without PMIx others need not.
    if (m->status != 0 || m->pmix_connected) {
        CLEANUP_FREE char *why = xasprintf("rank %u is gone", rank->rank);
        fail_collectives(j, m->rank, why);
    }
    msg_free(m);
    check_idle_exits(j);
    all_exited(j);
}

void job_tell_once(struct job *j, uint32_t member, const char *text)
{
    const struct group_member *m = &j->group.v[member];
    for (size_t i = 0; i < j->findings.n; i++)
        if (strcmp(j->findings.v[i], text) == 0)
            return;
    strv_add(&j->findings, text);
    CLEANUP_FREE char *name = group_member_text(m);
    log_warn(j->conf.log, "member %s (told once): %s", name, text);
}

static void on_ready(struct job *j, const struct frame *f)
{
    Muster__Ready *msg = msg_unpack(f, &muster__ready__descriptor, NULL);
    struct job_seat *seat = job_seat(j, f->src);
    uint32_t member = group_member_of(&j->group, f->src);
    uint32_t world = msg != NULL ? msg->world : 0;
    if (world > 0)
        job_spawn_ready(j, f->src, msg);
    else if (msg != NULL && j->map.positions[0].member == member)
        j->at->master_port = msg->master_port;
    for (size_t i = 0; msg != NULL && !seat->ready && i < msg->n_warnings; i++)
        job_tell_once(j, member, msg->warnings[i]);
    msg_free(msg);
    if (world > 0 || seat->ready || job_position(j, f->src) == NULL)
        return;
    seat->ready = true;
    j->at->ready++;
    job_claim_ready(j, f->src);
    job_muster_check(j);
}

void job_member_failed(struct job *j, uint32_t vertex, enum verdict_strength strength,
                       int code, const char *why)
{
    CLEANUP_FREE char *name = group_member_text(group_at(&j->group, vertex));
    job_spares_failed(j, group_member_of(&j->group, vertex));
    job_fail(j, strength, code, "member %s: %s", name, why);
}

// A program that is not there, or is none, will not be there the next time.
static bool is_mistake(int code)
{
    return code == 126 || code == 127;
}

static void on_failed(struct job *j, const struct frame *f, struct group_member *m)
{
    Muster__Failed *msg = msg_unpack(f, &muster__failed__descriptor, NULL);
    CLEANUP_FREE char *name = group_member_text(m);
    bool counts = job_attempt_lives(j) || job_settling(j);
    int code = msg != NULL && msg->code > 0 && msg->code < 256 ? (int)msg->code
                                                               : VERDICT_OWN_FAILURE;
    if (msg != NULL && msg->world > 0) {
        CLEANUP_FREE char *why = xasprintf("member %s: %s", name, msg->text);
        job_spawn_failed(j, msg->world, code, why);
    } else if (msg != NULL && counts)
        job_member_failed(j, f->src, is_mistake(code) ? VERDICT_ORDER : VERDICT_LOSS,
                          code, msg->text);
    msg_free(msg);
}

static void on_started(struct job *j, const struct frame *f, struct group_member *m)
{
    Muster__Started *msg = msg_unpack(f, &muster__started__descriptor, NULL);
    struct job_seat *seat = job_seat(j, f->src);
    for (size_t i = 0; msg != NULL && i < msg->n_ranks; i++) {
        uint32_t rank = msg->ranks[i]->rank;
        if (!job_rank_is_at(j, f->src, rank) || j->at->ranks[rank].started)
            continue;
        j->at->ranks[rank].pid = msg->ranks[i]->pid;
        j->at->ranks[rank].started = true;
        events_write(j->conf.events, "started",
                     jsonpack("{s:i, s:i, s:s, s:i}", "attempt", (int)j->at->number,
                              "rank", (int)rank, "member", m->member->name, "pid",
                              (int)msg->ranks[i]->pid));
        if (j->at->ranks[rank].world != NULL)
            job_spawn_started(j, j->at->ranks[rank].world);
    }
    bool first = msg != NULL && msg->n_ranks > 0 && msg->ranks[0]->rank < j->map.ranks;
    msg_free(msg);
    if (seat->started || !first || job_position(j, f->src) == NULL)
        return;
    seat->started = true;
    if (++j->at->started == j->map.npositions)
        job_event(j, JOB_EV_STARTED);
}

static void on_stopped(struct job *j, const struct frame *f)
{
    Muster__Stopped *m = msg_unpack(f, &muster__stopped__descriptor, NULL);
    if (m != NULL)
        job_stop_proof(j, f->src, m);
    msg_free(m);
}

static void on_output(struct job *j, const struct frame *f)
{
    Muster__Output *m = msg_unpack(f, &muster__output__descriptor, NULL);
    if (m != NULL && job_rank_is_at(j, f->src, m->rank)) {
        j->printed += m->data.len;
        if (m->data.len > 0)
            output_data(j->output, m->rank, m->stream, m->data.data, m->data.len);
        if (m->eof) {
            output_eof(j->output, m->rank, m->stream);
            job_muster_check(j);
        }
    }
    msg_free(m);
}

static void on_taken(struct job *j, const struct frame *f)
{
    Muster__Credit *m = msg_unpack(f, &muster__credit__descriptor, NULL);
    if (m != NULL && m->stream == 0 && j->input != NULL &&
        job_rank_is_at(j, f->src, m->rank))
        input_taken(j->input, m->rank, m->bytes);
    msg_free(m);
}

static void on_abort(struct job *j, const struct frame *f)
{
    Muster__Abort *m = msg_unpack(f, &muster__abort__descriptor, NULL);
    long number = m != NULL ? job_rank_number(j, m->nspace, m->rank) : -1;
    if (number >= 0 && job_rank_is_at(j, f->src, (uint32_t)number)) {
        struct verdict_rank t = job_rank_text(j, (uint32_t)number);
        if (job_attempt_lives(j))
            job_notify_ended(j, (uint32_t)number, MUSTER__NOTIFY__ENDED__ABORTED);
        if (verdict_abort(&j->verdict, &t, m->status, m->text))
            job_event(j, JOB_EV_CAUSE);
    }
    msg_free(m);
}

static void on_attached_below(struct job *j, const struct frame *f)
{
    Muster__Attached *m = msg_unpack(f, &muster__attached__descriptor, NULL);
    if (m != NULL && m->hello != NULL &&
        group_is_current(&j->group, f->src, m->generation))
        job_member_attached(j, f->src, m->hello);
    msg_free(m);
}

static void on_lost_below(struct job *j, const struct frame *f)
{
    Muster__Lost *m = msg_unpack(f, &muster__lost__descriptor, NULL);
    if (m != NULL && m->vertex > f->src && m->vertex <= j->group.n &&
        tree_contains(&j->tree, f->src, m->vertex) &&
        group_is_current(&j->group, m->vertex, m->generation)) {
        const struct job_loss loss = {m->why, m->gone, m->hung_up, m->silent_ms};
        if (m->was_attached)
            job_member_lost(j, m->vertex, &loss);
        else
            job_member_missing(j, m->vertex, m->why, m->code < 256 ? (int)m->code : 0,
                               m->final);
    }
    msg_free(m);
}

// PMIx itself negotiates between versions, and programs that only use PMIx run. MPI
// libraries of different versions do not find each other, and say anything but that.
static void compare_libpmix(struct job *j, uint32_t vertex, const char *version)
{
    if (j->at->libpmix == NULL) {
        j->at->libpmix = xstrdup(version);
        j->at->libpmix_from = vertex;
    } else if (strcmp(j->at->libpmix, version) != 0) {
        CLEANUP_FREE char *first =
            group_member_text(group_at(&j->group, j->at->libpmix_from));
        CLEANUP_FREE char *text = xasprintf(
            "PMIX_VERSION: its ranks use libpmix %s, those of %s %s; MPI libraries of "
            "different versions cannot talk to each other: use one image for all ranks",
            version, first, j->at->libpmix);
        job_tell_once(j, group_member_of(&j->group, vertex), text);
    }
}

static void on_pmix_used(struct job *j, const struct frame *f)
{
    Muster__PmixUsed *used = msg_unpack(f, &muster__pmix_used__descriptor, NULL);
    j->at->pmix_used = true;
    if (used != NULL && used->libpmix[0] != '\0')
        compare_libpmix(j, f->src, used->libpmix);
    msg_free(used);
    check_idle_exits(j);
}

// Direct modex between two agents that do not see each other's subtree.
static void forward(struct job *j, const struct frame *f)
{
    if (f->dst != 0 && f->dst <= j->group.n)
        branch_send(j->branch, f);
}

// Nothing of an attempt is heard before it was prepared, and only its last output after the proofs:
// what its ranks still say is no cause for the job, which has gone on to the next.
static bool is_heard(const struct job *j, const struct frame *f)
{
    return j->at->prepare != NULL && f->term == j->term &&
           f->attempt == j->at->number &&
           (!job_muster_gathers(j) || f->kind == FRAME_OUTPUT);
}

static void attempt_frame(struct job *j, const struct frame *f, struct group_member *m)
{
    if (!is_heard(j, f)) {
        log_debug(j->conf.log, "dropped %s of another attempt, or of one that is over",
                  frame_kind_name(f->kind));
        return;
    }
    switch (f->kind) {
    case FRAME_READY: on_ready(j, f); break;
    case FRAME_FAILED: on_failed(j, f, m); break;
    case FRAME_STARTED: on_started(j, f, m); break;
    case FRAME_EXITED: on_exited(j, f); break;
    case FRAME_STOPPED: on_stopped(j, f); break;
    case FRAME_OUTPUT: on_output(j, f); break;
    case FRAME_CREDIT: on_taken(j, f); break;
    case FRAME_COLL: job_coll_part(j, f); break;
    case FRAME_MODEX:
    case FRAME_MODEX_DONE: forward(j, f); break;
    case FRAME_ABORT: on_abort(j, f); break;
    case FRAME_NOTIFY: job_notify_relay(j, f); break;
    case FRAME_SPAWN_REQUEST: job_spawn_request(j, f); break;
    case FRAME_NAMES: job_names_request(j, f); break;
    case FRAME_PMIX_USED: on_pmix_used(j, f); break;
    default: log_debug(j->conf.log, "dropped a frame of kind %u", f->kind); break;
    }
}

static void answer_alive(struct job *j, uint32_t vertex)
{
    struct frame f = job_frame(j, FRAME_ALIVE, vertex);
    branch_send(j->branch, &f);
}

void job_up_frame(void *arg, const struct frame *f)
{
    struct job *j = arg;
    if (f->src == 0 || f->src > j->group.n)
        return;
    if (f->kind == FRAME_ATTACHED) {
        on_attached_below(j, f);
        return;
    }
    // Of who was at the vertex before, or has no link any more.
    if (group_at(&j->group, f->src)->state != GROUP_ATTACHED)
        return;
    if (f->kind == FRAME_LOST)
        on_lost_below(j, f);
    else if (f->kind == FRAME_ASK)
        job_ask(j, f);
    else if (f->kind == FRAME_ALIVE)
        answer_alive(j, f->src);
    else if (f->kind == FRAME_RECORD || f->kind == FRAME_GRANT || f->kind == FRAME_DENY)
        job_claim_frame(j, f);
    else if (f->kind == FRAME_VERDICT)
        job_inspect_verdict(j, f);
    else
        attempt_frame(j, f, group_at(&j->group, f->src));
}
