// Questions and orders of people to a running job: through an agent, or by HTTP.
#include <stdlib.h>
#include <string.h>

#include "common/httpd.h"
#include "common/jsonpack.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/promtext.h"
#include "launcher/job_internal.h"
#include "launcher/oneline.h"
#include "wire/msg.h"

enum { REASON_MAX = 300 }; // bytes: it goes into texts, logs and the ranks' environment

// ---- which member -----------------------------------------------------------------

// "train-2" for "train-2.train.ns.svc".
static bool is_first_label(const char *name, const char *given)
{
    size_t n = strlen(given);
    return n > 0 && strncmp(name, given, n) == 0 && name[n] == '.';
}

// Vertex of the member of that name or address; 0 with err.
static uint32_t find_member(const struct job *j, const char *given, struct err *err)
{
    uint32_t exact = 0, near = 0, nnear = 0;
    for (uint32_t i = 0; i < j->group.n; i++) {
        const struct group_member *m = &j->group.v[i];
        if (strcmp(m->member->name, given) == 0 || strcmp(m->address, given) == 0)
            exact = group_vertex_of(&j->group, i);
        if (is_first_label(m->member->name, given)) {
            near = group_vertex_of(&j->group, i);
            nnear++;
        }
    }
    if (exact > 0 || nnear == 1)
        return exact > 0 ? exact : near;
    if (nnear > 1)
        err_set(err, "several members begin with '%s': give the whole name", given);
    else
        err_set(err, "the job has no member '%s'; `muster status` lists them", given);
    return 0;
}

// ---- replace, drain ---------------------------------------------------------------

// NULL: it can be done now.
static const char *why_not(const struct job *j)
{
    if (j->opts->policy.on_failure != POLICY_RESTART)
        return "the job was started with --on-failure abort: it would end; start it "
               "with --on-failure restart";
    if (j->local)
        return "the job's only member is the launcher's own machine";
    if (j->state < JOB_MUSTER)
        return "the job still waits for its members: delete the pod, and its "
               "replacement is taken";
    if (j->state > JOB_STOP || j->verdict.strength == VERDICT_ORDER ||
        (j->state == JOB_STOP && !j->verdict.failed))
        return "the job is about to end";
    return NULL;
}

// The seat is left by its agent, as if that had said that it ends: from now on for the next
// attempt, and with REPLACE this one ends of it. Returns what to tell the operator.
static char *vacate(struct job *j, uint32_t vertex, const Muster__Ask *ask)
{
    struct group_member *m = group_at(&j->group, vertex);
    struct job_seat *seat = job_seat(j, vertex);
    bool now = ask->op == MUSTER__ASK__OP__REPLACE;
    const char *verb = now ? "replaced" : "drained";
    uint32_t next = j->at->number + 1;
    CLEANUP_FREE char *name = group_member_text(m);
    CLEANUP_FREE char *reason = oneline(ask->reason, REASON_MAX);
    CLEANUP_FREE char *why =
        xasprintf("%s by an operator%s%s", verb, reason[0] != '\0' ? ": " : "", reason);
    seat->replaced = true;
    seat->leaves = true;
    job_record_changed(j);
    group_set_why(m, why);
    log_warn(j->conf.log, "member %s: %s", name, why);
    events_write(j->conf.events, now ? "replace" : "drain",
                 jsonpack("{s:s, s:s, s:s}", "member", m->member->name, "address",
                          m->address, "reason", reason));
    if (!seat->hosts)
        return xasprintf("member %s hosts no rank: nothing is stopped", name);
    if (!job_attempt_lives(j))
        return xasprintf("member %s is %s: attempt %u begins on a spare, or with "
                         "another agent there",
                         name, verb, next);
    if (!now)
        return xasprintf("member %s is drained: attempt %u goes on, and the next one "
                         "begins on a spare, or with another agent there",
                         name, j->at->number);
    job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE, "member %s was %s", name, why);
    return xasprintf(
        "member %s is replaced: attempt %u ends, and attempt %u begins on a "
        "spare, or with another agent there",
        name, j->at->number, next);
}

static char *order(struct job *j, const Muster__Ask *ask, struct err *err)
{
    const char *no = why_not(j);
    uint32_t vertex = find_member(j, ask->member, err);
    if (vertex != 0 && no == NULL)
        return vacate(j, vertex, ask);
    if (vertex != 0)
        err_set(err, "%s", no);
    return NULL;
}

// ---- questions --------------------------------------------------------------------

static char *answer(struct job *j, const Muster__Ask *ask, struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    switch (ask->op) {
    case MUSTER__ASK__OP__STATUS: job_status(j, &text); return buf_steal_str(&text);
    case MUSTER__ASK__OP__REPLACE:
    case MUSTER__ASK__OP__DRAIN: return order(j, ask, err);
    default:
        err_set(err, "this launcher does not know what is asked: use the same version "
                     "of muster");
        return NULL;
    }
}

void job_ask(struct job *j, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Ask *ask = msg_unpack(f, &muster__ask__descriptor, NULL);
    if (ask == NULL)
        return;
    CLEANUP_FREE char *text = answer(j, ask, &err);
    Muster__Answer m = MUSTER__ANSWER__INIT;
    m.id = ask->id;
    m.code = text != NULL ? 0 : 1;
    CLEANUP_FREE char *why = text == NULL ? xstrdup(err_text(&err)) : NULL;
    m.text = text != NULL ? text : why;
    job_send(j, FRAME_ANSWER, f->src, &m.base);
    msg_free(ask);
}

// ---- pages ------------------------------------------------------------------------

static int render_alive(const void *arg, struct buf *body)
{
    buf_append_str(body, "ok\n");
    return 200;
}

static int render_status(const void *arg, struct buf *body)
{
    job_status(arg, body);
    return 200;
}

static int render_metrics(const void *arg, struct buf *body)
{
    job_metrics(arg, body);
    return 200;
}

int job_pages_start(struct job *j, struct err *err)
{
    static const struct httpd_page pages[] = {
        {"/healthz", "text/plain; charset=utf-8", render_alive},
        {"/status", "application/json", render_status},
        {"/metrics", PROMTEXT_TYPE, render_metrics},
    };
    if (j->opts->status == NULL)
        return 0;
    j->pages = httpd_create(j->conf.base, j->opts->status, pages,
                            sizeof pages / sizeof *pages, j, j->conf.log, err);
    if (j->pages == NULL)
        err_prefix(err, "--status");
    return j->pages != NULL ? 0 : -1;
}
