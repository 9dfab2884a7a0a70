// Who commands a job, as this agent has it: claims are granted or denied by its record.
//
// ATTACH and CLAIM with a term claim it. A session of term 0 only looks: it disturbs nobody
// and can start nothing. Once a claim is granted, the sessions of other launchers of the job
// end their ranks, and GRANT goes up when none is left. A session whose launcher gave no name
// has a key that nobody else can know: it commands at once, and no record is kept.
#include <string.h>

#include "agent/handoff.h"
#include "agent/record.h"
#include "agent/session_internal.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/msg.h"

bool session_is_named(const struct session *s)
{
    return s->attach->launcher.len == RECORD_LAUNCHER_BYTES;
}

static struct record_claim claim_of(const struct session *s)
{
    struct record_claim c = {.job_key = s->attach->job_key,
                             .term = s->term,
                             .host = s->attach->launcher_host};
    memcpy(c.launcher, s->attach->launcher.data, sizeof c.launcher);
    return c;
}

static void say_record(struct session *s, uint16_t kind)
{
    Muster__Record *m =
        records_read(agent_records(s->agent), s->attach->job_key, loop_now_ms());
    session_up_msg(s, kind, &m->base);
    msg_free(m);
}

void session_say_denied(struct session *s)
{
    say_record(s, FRAME_DENY);
}

// Its place was given to another job while its launcher did not answer.
static bool is_banned(struct session *s)
{
    struct record_claim c = {.job_key = s->attach->job_key, .term = RECORD_TERM_BANNED};
    return records_is_held(agent_records(s->agent), &c);
}

void session_claim_look_again(struct session *s)
{
    struct frame f = {.kind = FRAME_GRANT, .job = s->job, .term = s->term};
    if (!s->grant_due || s->attempts != NULL || agent_is_leaving(s->agent, s))
        return;
    s->grant_due = false;
    session_up(s, &f);
}

static void answer_claim(struct session *s)
{
    struct record_claim c = claim_of(s);
    s->granted = records_grant(agent_records(s->agent), &c);
    log_info(session_log(s), "job %s: term %u of the launcher on %s is %s", c.job_key,
             c.term, c.host, s->granted ? "granted" : "denied");
    if (!s->granted) {
        say_record(s, FRAME_DENY);
        return;
    }
    agent_depose_others(s->agent, s);
    s->grant_due = true;
    session_claim_look_again(s);
}

void session_claim_attached(struct session *s)
{
    if (!session_is_named(s)) {
        s->granted = !is_banned(s);
        if (!s->granted)
            session_say_denied(s);
        return;
    }
    say_record(s, FRAME_RECORD);
    if (s->term > 0)
        answer_claim(s);
}

void session_claim_raise(struct session *s, uint32_t term)
{
    if (term <= s->term)
        return;
    s->term = term;
    s->granted = false;
    if (s->branch != NULL)
        branch_set_term(s->branch, term);
}

static void keep_end(struct session *s, const struct frame *f)
{
    Muster__Done *m = msg_unpack(f, &muster__done__descriptor, NULL);
    if (m != NULL && s->granted)
        records_done(agent_records(s->agent), s->attach->job_key, s->term, f->attempt,
                     m);
    msg_free(m);
}

static void keep_account(struct session *s, const struct frame *f)
{
    Muster__Account *m = msg_unpack(f, &muster__account__descriptor, NULL);
    if (m != NULL && s->granted)
        records_account(agent_records(s->agent), s->attach->job_key, s->term,
                        f->attempt, m, loop_now_ms());
    msg_free(m);
}

bool session_claim_frame(struct session *s, const struct frame *f)
{
    if (!session_is_named(s))
        return false;
    switch (f->kind) {
    case FRAME_CLAIM: answer_claim(s); return true;
    case FRAME_RECORD: say_record(s, FRAME_RECORD); return true;
    case FRAME_DONE: keep_end(s, f); return true;
    case FRAME_ACCOUNT: keep_account(s, f); return true;
    default: return false;
    }
}

// Who has ranks says READY; the others say that they remember it, too.
void session_claim_prepare(struct session *s, const Muster__Prepare *m)
{
    if (!session_is_named(s) || m->progress == NULL)
        return;
    records_progress(agent_records(s->agent), s->attach->job_key, m->progress,
                     loop_now_ms());
    if (!session_hosts(s, m))
        say_record(s, FRAME_RECORD);
}

// The link and what is below stay: who is frozen may read it later, and who lost a race may
// claim again with a higher term.
void session_depose(struct session *s)
{
    if (!s->granted)
        return;
    log_info(session_log(s), "job %s: the launcher on %s commands it no more (term %u)",
             s->attach->job_key, s->attach->launcher_host, s->term);
    s->granted = false;
    s->grant_due = false;
    session_place_forget(s);
    handoff_lost(s->claim);
    session_inspect_cancel(s);
    say_record(s, FRAME_DENY);
    session_end_ranks(s, "another launcher has taken the job over");
    session_over_when_idle(s);
}
