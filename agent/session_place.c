// PREPARE of a session: its ranks come to the pod once that is free for them.
//
// It is not free while ranks of an older session of the job are there, or of another job whose
// launcher may have gone (session_beside.c), or a check that nobody wants any more
// (session_inspect.c). What waits are worlds of one attempt, in their order: the first that has
// ranks here, and all that come behind it. A further world of an attempt that has ranks here
// already begins at once.
#include <stdlib.h>
#include <utlist.h>

#include "agent/attempt.h"
#include "agent/inspect.h"
#include "agent/session_internal.h"
#include "common/log.h"
#include "common/mem.h"
#include "wire/msg.h"

bool session_hosts(const struct session *s, const Muster__Prepare *m)
{
    for (size_t i = 0; i < m->n_positions; i++)
        if (m->positions[i]->vertex == s->vertex)
            return true;
    return false;
}

bool session_place_waits(const struct session *s)
{
    return s->npending > 0;
}

static bool waits_for(const struct session *s, uint32_t attempt)
{
    return session_place_waits(s) && s->pending_head.attempt == attempt;
}

void session_place_forget(struct session *s)
{
    for (size_t i = 0; i < s->npending; i++)
        msg_free(s->pending[i]);
    free(STEAL(s->pending));
    s->npending = 0;
}

void session_place_stopped(struct session *s, uint32_t attempt)
{
    if (waits_for(s, attempt))
        session_place_forget(s);
}

// ---- beginning ---------------------------------------------------------------------

static void refuse(struct session *s, uint32_t attempt, const struct err *err)
{
    CLEANUP_FREE char *text = xasprintf("PREPARE makes no sense: %s", err_text(err));
    Muster__Failed m = MUSTER__FAILED__INIT;
    m.text = text;
    m.code = 125;
    log_warn(session_log(s), "%s", text);
    session_up_attempt_msg(s, FRAME_FAILED, attempt, &m.base);
}

static void begin(struct session *s, const struct frame *head, Muster__Prepare *m)
{
    ERR_AUTO err = ERR_INIT;
    struct attempt *at = session_find_attempt(s, head->attempt);
    if (at != NULL) {
        attempt_add_world(at, m);
        return;
    }
    s->displaced = false;
    at = attempt_create(s, head, m, &err);
    if (at != NULL)
        session_add_attempt(s, at);
    else
        refuse(s, head->attempt, &err);
}

static bool is_free(struct session *s)
{
    return !agent_is_leaving(s->agent, s) && !session_waits_for_others(s) &&
           !inspect_is_ending(agent_inspect(s->agent));
}

void session_place_look_again(struct session *s)
{
    if (!session_place_waits(s) || s->state != SESSION_ATTACHED || s->stopping ||
        !is_free(s))
        return;
    CLEANUP_FREE Muster__Prepare **worlds = STEAL(s->pending);
    size_t n = s->npending;
    s->npending = 0;
    for (size_t i = 0; i < n; i++)
        begin(s, &s->pending_head, worlds[i]);
}

// ---- waiting -----------------------------------------------------------------------

static void add(struct session *s, const struct frame *f, Muster__Prepare *m)
{
    s->pending = xrealloc(s->pending, s->npending + 1, sizeof(Muster__Prepare *));
    s->pending[s->npending++] = m;
    s->pending_head = *f;
    s->pending_head.body = NULL;
}

// Ranks of before come first, those of other jobs whose launchers have gone, and checks of other
// jobs.
static void take(struct session *s, const struct frame *f, Muster__Prepare *m)
{
    free(STEAL(s->note)); // of the attempt before
    add(s, f, m);
    session_inspect_end_others(s);
    session_doubt_others(s);
    session_place_look_again(s);
    if (session_place_waits(s))
        log_info(session_log(s), "PREPARE waits until ranks and checks of before have "
                                 "ended, or their launchers answer");
}

// Attempts of before: their last output was taken or given up.
static void drop_older(struct session *s, uint32_t number)
{
    struct running *r, *tmp;
    if (!waits_for(s, number))
        session_place_forget(s);
    DL_FOREACH_SAFE (s->attempts, r, tmp)
        if (attempt_number(r->attempt) < number)
            attempt_abandon(r->attempt, ATTEMPT_KILL, "the next attempt is prepared");
}

static bool has_ranks_of(struct session *s, uint32_t attempt)
{
    const struct attempt *at = session_find_attempt(s, attempt);
    return at != NULL && attempt_hosts(at);
}

void session_prepare(struct session *s, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Prepare *m = msg_unpack(f, &muster__prepare__descriptor, &err);
    drop_older(s, f->attempt);
    session_inspect_cancel(s);
    if (m == NULL) {
        refuse(s, f->attempt, &err);
        return;
    }
    session_claim_prepare(s, m);
    if (waits_for(s, f->attempt))
        add(s, f, m);
    else if (session_hosts(s, m) && !has_ranks_of(s, f->attempt))
        take(s, f, m);
    else
        begin(s, f, m);
}
