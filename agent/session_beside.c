// Jobs beside each other on one agent: do their launchers still live?
//
// Two jobs may share an agent, but ranks of a launcher that is gone must not run beside those
// of the next one, which may be the same program begun anew; and without a common key they are
// different jobs. So before a session prepares ranks, the launchers of all other jobs that
// have ranks here are asked whether they are there (ALIVE). It is the launcher itself that
// answers: in a tree the next vertex lives on when the launcher does not. One that has not
// answered for as long as a link may be silent has lost its place: its ranks are killed, and
// if it comes back it stands down.
#include <stdlib.h>

#include "agent/record.h"
#include "agent/session_internal.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/graces.h"

// ---- the one that has ranks here ------------------------------------------------------------

// A connection that was alive when the question was sent ends, or is back, by then.
static uint64_t patience_ms(const struct session *s)
{
    struct graces g = {.dead_ms = s->attach->heartbeat_ms * LINK_DEAD_BEATS,
                       .link_ms = s->attach->link_grace_ms};
    return graces_link_end(g.dead_ms, 0, g.link_ms) + graces_margin_ms(&g);
}

static void ask(struct session *s)
{
    struct frame f = {.kind = FRAME_ALIVE, .job = s->job, .term = s->term};
    s->doubted = true;
    session_up(s, &f);
    loop_timer_arm(s->doubt, patience_ms(s));
}

// Nobody can find a job without a key: its launcher is told, whenever it comes.
static void ban(struct session *s)
{
    struct record_claim c = {
        .job_key = s->attach->job_key, .term = RECORD_TERM_BANNED, .host = s->taken_by};
    if (session_is_named(s))
        return;
    records_grant(agent_records(s->agent), &c);
    s->granted = false;
    session_say_denied(s);
}

// Whoever waits for its place tells its user.
static bool note(void *arg, struct session *asker)
{
    const struct session *s = arg;
    if (asker == s || !session_place_waits(asker) || asker->job == s->job)
        return true;
    free(asker->note);
    asker->note = xasprintf(
        "ranks of a launcher on %s that did not answer were killed first (job %s)",
        s->attach->launcher_host, s->attach->job_key);
    return true;
}

static void lose_place(struct session *s)
{
    log_warn(
        session_log(s),
        "job %s: the launcher on %s does not answer, and one on %s wants this agent: "
        "the ranks are killed",
        s->attach->job_key, s->attach->launcher_host, s->taken_by);
    s->doubted = false;
    s->displaced = true;
    agent_each_session(s->agent, note, s);
    ban(s);
    session_end_ranks(s,
                      "its launcher did not answer, and another one wanted the agent");
    session_over_when_idle(s);
    agent_look_again(s->agent);
}

void session_doubt_over(struct session *s)
{
    if (s->doubted)
        lose_place(s);
}

void session_alive(struct session *s)
{
    if (!s->doubted)
        return;
    s->doubted = false;
    loop_timer_disarm(s->doubt);
    agent_look_again(s->agent);
}

static bool is_beside(const struct session *s, const struct session *other)
{
    return s != other && other->attach != NULL && other->job != s->job &&
           session_has_ranks(other);
}

struct look {
    struct session *session;
    bool found;
};

static bool shares(void *arg, struct session *other)
{
    struct look *l = arg;
    l->found = is_beside(l->session, other);
    return !l->found;
}

// The launcher's own child, which nobody reaches through a pod's sshd.
static bool is_local(const struct session *s)
{
    return agent_conf(s->agent)->once && s->attach->via == NULL;
}

bool session_owns_pod(struct session *s)
{
    struct look l = {.session = s};
    agent_each_session(s->agent, shares, &l);
    return !l.found && !is_local(s);
}

// ---- the one that wants to have some --------------------------------------------------------

static bool doubt(void *arg, struct session *other)
{
    struct session *s = arg;
    if (!is_beside(s, other) || other->doubted || other->state == SESSION_CLOSING)
        return true;
    free(other->taken_by);
    other->taken_by = xstrdup(s->attach->launcher_host);
    // Who has lost its launcher for good ends its ranks in any case.
    if (other->state == SESSION_ORPHANED)
        lose_place(other);
    else
        ask(other);
    return true;
}

void session_doubt_others(struct session *s)
{
    agent_each_session(s->agent, doubt, s);
}

static bool waits(void *arg, struct session *other)
{
    struct look *l = arg;
    if (is_beside(l->session, other) &&
        (other->doubted || other->displaced || other->state == SESSION_CLOSING))
        l->found = true;
    return !l->found;
}

bool session_waits_for_others(struct session *s)
{
    struct look l = {.session = s};
    agent_each_session(s->agent, waits, &l);
    return l.found;
}
