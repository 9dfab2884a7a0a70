// Questions to a running job: through this agent, up to the launcher, and back.
//
// Whoever dialled and asks stays in GREETED. Nothing is kept of a question but its id, in
// the asker's session: an answer to one who has gone is dropped.
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/session_internal.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/msg.h"

// The jobs that hold this agent, as far as the question is about them.
struct search {
    const char *key; // "": any
    struct session *found;
    unsigned n;
    struct buf keys; // of all of them, for texts
};

// Of launchers of one job, that which commands it, and whose link is there.
static bool is_better(const struct session *a, const struct session *b)
{
    return 2 * a->granted + (a->link != NULL) > 2 * b->granted + (b->link != NULL);
}

static bool look(void *arg, struct session *s)
{
    struct search *q = arg;
    if (s->attach == NULL || s->state == SESSION_CLOSING)
        return true;
    bool known = q->found != NULL &&
                 (session_is_of(q->found, s) || session_is_rival(q->found, s));
    if (known && !is_better(s, q->found))
        return true;
    if (!known)
        buf_printf(&q->keys, "%s%s", buf_len(&q->keys) > 0 ? ", " : "",
                   s->attach->job_key);
    if (q->key[0] != '\0' && strcmp(q->key, s->attach->job_key) != 0)
        return true;
    q->found = s;
    q->n += known ? 0 : 1;
    return true;
}

// Why the question cannot go up; NULL: it can. Caller frees.
static char *why_not(struct search *q)
{
    CLEANUP_FREE char *keys = buf_steal_str(&q->keys);
    if (q->n == 0 && keys[0] != '\0')
        return xasprintf("there is no job %s here, but %s", q->key, keys);
    if (q->n == 0)
        return xstrdup("no job holds this pod's agent");
    if (q->n > 1)
        return xasprintf("several jobs hold this pod's agent (%s): say which, with "
                         "--job",
                         keys);
    const struct session *s = q->found;
    if (s->link == NULL)
        return xasprintf("job %s has lost its launcher: its ranks are stopped unless "
                         "it comes back",
                         s->attach->job_key);
    if (link_get_state(s->link) == LINK_BROKEN)
        return xasprintf("job %s: the connection to its launcher is lost for %.1f s "
                         "now; it may come back",
                         s->attach->job_key, (double)link_away_ms(s->link) / 1e3);
    return NULL;
}

static void answer_here(struct session *s, char *text)
{
    Muster__Answer m = MUSTER__ANSWER__INIT;
    struct frame f = {.kind = FRAME_ANSWER};
    m.code = 1;
    m.text = text;
    link_send_msg(s->link, &f, &m.base);
}

// An id that no other question has, so that a late answer is nobody's.
static uint64_t new_id(void)
{
    uint64_t id = 0;
    while (id == 0 && getrandom(&id, sizeof id, 0) != sizeof id)
        ;
    return id;
}

void session_ask(struct session *s, const struct frame *f)
{
    Muster__Ask *m = msg_unpack(f, &muster__ask__descriptor, NULL);
    if (m == NULL) {
        log_warn(session_log(s), "dropped an ASK that makes no sense");
        return;
    }
    struct search q = {.key = m->job_key, .keys = BUF_INIT};
    agent_each_session(s->agent, look, &q);
    CLEANUP_FREE char *why = why_not(&q);
    loop_timer_arm(s->bound, SESSION_ATTACH_MS);
    if (why != NULL) {
        answer_here(s, why);
    } else {
        BUF_AUTO body = BUF_INIT;
        struct frame up = {
            .kind = FRAME_ASK, .job = q.found->job, .term = q.found->term};
        s->ask = m->id = new_id();
        msg_pack(&up, &body, &m->base);
        session_up(q.found, &up);
    }
    msg_free(m);
}

struct reply {
    const struct frame *frame;
    uint64_t id;
};

static bool hand_over(void *arg, struct session *s)
{
    const struct reply *r = arg;
    if (s->state != SESSION_GREETED || s->ask != r->id || s->link == NULL)
        return true;
    struct frame f = {
        .kind = FRAME_ANSWER, .body = r->frame->body, .len = r->frame->len};
    s->ask = 0;
    link_send(s->link, &f);
    return false;
}

void session_answer(struct session *s, const struct frame *f)
{
    Muster__Answer *m = msg_unpack(f, &muster__answer__descriptor, NULL);
    struct reply r = {.frame = f, .id = m != NULL ? m->id : 0};
    msg_free(m);
    if (r.id != 0)
        agent_each_session(s->agent, hand_over, &r);
}
