// INSPECT of a session's launcher, and its VERDICT.
//
// A session has one inspection at a time. The launcher asks when it has STOPPED of the attempt
// before; what waits here is for ranks of older sessions, and of launchers that have gone
// (session_beside.c), and then for its turn on the pod (inspect.h). It is cancelled when the link
// above is gone, the launcher commands no more, or ranks are to be prepared. A check may take all of
// a GPU's memory, so it is never beside another job: where that has ranks, or inspects, it is
// answered at once that nothing could be run, and where that prepares ranks meanwhile, then.
#include "agent/inspect.h"

#include <stdlib.h>

#include "agent/session_internal.h"
#include "common/log.h"
#include "common/mem.h"
#include "wire/msg.h"

static void on_verdict(void *arg, const Muster__Verdict *v)
{
    struct session *s = arg;
    s->inspection = NULL;
    session_up_msg(s, FRAME_VERDICT, &v->base);
}

static void refuse(struct session *s, uint32_t number, char *why)
{
    Muster__Verdict v = MUSTER__VERDICT__INIT;
    Muster__CheckEnd end = MUSTER__CHECK_END__INIT, *ends[] = {&end};
    end.error = why;
    v.number = number;
    v.ends = ends;
    v.n_ends = 1;
    session_up_msg(s, FRAME_VERDICT, &v.base);
}

// A session of another job.
static bool is_beside(const struct session *s, const struct session *other)
{
    return s != other && other->attach != NULL && other->job != s->job;
}

struct search {
    const struct session *own, *found;
};

static bool has_other_ranks(void *arg, struct session *s)
{
    struct search *q = arg;
    if (is_beside(q->own, s) && (session_place_waits(s) || session_has_ranks(s)))
        q->found = s;
    return q->found == NULL;
}

static bool has_other_inspection(void *arg, struct session *s)
{
    struct search *q = arg;
    if (is_beside(q->own, s) && s->inspection != NULL)
        q->found = s;
    return q->found == NULL;
}

// Why nothing is inspected now; NULL: nothing is in the way. Caller frees.
static char *find_obstacle(struct session *s)
{
    struct search ranks = {.own = s}, checks = {.own = s};
    agent_each_session(s->agent, has_other_ranks, &ranks);
    if (ranks.found != NULL)
        return xasprintf("ranks of job %s run in its pod",
                         ranks.found->attach->job_key);
    agent_each_session(s->agent, has_other_inspection, &checks);
    if (checks.found != NULL)
        return xasprintf("an inspection of job %s is under way in its pod",
                         checks.found->attach->job_key);
    return NULL;
}

void session_inspect_look_again(struct session *s)
{
    if (s->inspect_due == NULL || agent_is_leaving(s->agent, s) ||
        session_waits_for_others(s))
        return;
    Muster__Inspect *m = STEAL(s->inspect_due);
    CLEANUP_FREE char *why = find_obstacle(s);
    if (why == NULL) {
        s->inspection = inspect_add(agent_inspect(s->agent), m, on_verdict, s);
        return;
    }
    refuse(s, m->number, why);
    msg_free(m);
}

void session_inspect(struct session *s, const struct frame *f)
{
    Muster__Inspect *m = msg_unpack(f, &muster__inspect__descriptor, NULL);
    session_inspect_cancel(s);
    if (m == NULL) {
        log_warn(session_log(s), "dropped an INSPECT that makes no sense");
        return;
    }
    s->inspect_due = m;
    session_doubt_others(s);
    session_inspect_look_again(s);
}

void session_inspect_cancel(struct session *s)
{
    msg_free(STEAL(s->inspect_due));
    inspect_cancel(STEAL(s->inspection));
}

static bool end_other(void *arg, struct session *s)
{
    const struct session *own = arg;
    CLEANUP_FREE char *why =
        xasprintf("ranks of job %s are prepared in its pod", own->attach->job_key);
    if (is_beside(own, s) && s->inspection != NULL)
        inspect_refuse(s->inspection, why);
    return true;
}

void session_inspect_end_others(struct session *s)
{
    agent_each_session(s->agent, end_other, s);
}
