// The vertices below an agent: its links to them, and what comes from there.
#include <stdlib.h>
#include <string.h>

#include "agent/attempt.h"
#include "agent/session_internal.h"
#include "common/log.h"
#include "common/mem.h"
#include "wire/msg.h"

static void up_msg(struct session *s, uint16_t kind, uint32_t src,
                   const ProtobufCMessage *msg)
{
    struct frame f = {.kind = kind, .job = s->job, .term = s->term, .src = src};
    if (s->link != NULL)
        link_send_msg(s->link, &f, msg);
}

static void on_child_frame(void *arg, const struct frame *f)
{
    struct session *s = arg;
    struct attempt *at = session_find_attempt(s, f->attempt);
    if (f->kind == FRAME_COLL && at != NULL)
        attempt_from_child(at, f);
    else if (f->kind == FRAME_COLL)
        log_debug(session_log(s), "dropped COLL: no such attempt here");
    else if (f->kind == FRAME_MODEX || f->kind == FRAME_MODEX_DONE)
        session_route(s, f);
    else
        session_up(s, f);
}

static void on_child_attached(void *arg, uint32_t vertex, const Muster__Hello *hello)
{
    struct session *s = arg;
    Muster__Hello copy = *hello;
    Muster__Attached m = MUSTER__ATTACHED__INIT;
    m.hello = &copy;
    m.generation = s->attach->generation;
    up_msg(s, FRAME_ATTACHED, vertex, &m.base);
}

static void child_lost(struct session *s, uint32_t vertex, const struct err *why,
                       bool attached, bool final)
{
    CLEANUP_FREE char *text = xstrdup(err_text(why));
    Muster__Lost m = MUSTER__LOST__INIT;
    m.vertex = vertex;
    m.generation = s->attach->generation;
    m.why = text;
    m.was_attached = attached;
    m.final = final;
    m.code = why->code > 0 ? (uint32_t)why->code : 0;
    m.gone = why->kind != NULL && strcmp(why->kind, "GONE") == 0;
    m.silent_ms = attached ? branch_silent_ms(s->branch, vertex) : 0;
    m.hung_up = attached && branch_hung_up(s->branch, vertex);
    up_msg(s, FRAME_LOST, s->vertex, &m.base);
}

static void on_child_broken(void *arg, uint32_t vertex, const struct err *why)
{
    struct session *s = arg;
    log_info(session_log(s),
             "connection to vertex %u (%s) lost: %s; it is dialed again", vertex,
             s->attach->members[vertex - 1]->name, err_text(why));
}

static void on_child_resumed(void *arg, uint32_t vertex)
{
    struct session *s = arg;
    log_info(session_log(s), "connection to vertex %u (%s) is back", vertex,
             s->attach->members[vertex - 1]->name);
}

static void on_child_missing(void *arg, uint32_t vertex, const struct err *why,
                             bool final)
{
    child_lost(arg, vertex, why, false, final);
}

static void on_child_lost(void *arg, uint32_t vertex, const struct err *why)
{
    child_lost(arg, vertex, why, true, true);
    session_over_when_idle(arg);
}

void session_dial_children(struct session *s)
{
    static const struct branch_ops ops = {on_child_frame,   on_child_attached,
                                          on_child_missing, on_child_lost,
                                          on_child_broken,  on_child_resumed};
    uint32_t first, n = tree_children(&s->tree, s->vertex, &first);
    const struct agent_conf *ac = agent_conf(s->agent);
    ERR_AUTO err = ERR_INIT;
    if (n == 0)
        return;
    if (inner_open(&s->inner, s->attach, ac->keys, ac->log, &err) < 0) {
        for (uint32_t i = 0; i < n; i++)
            child_lost(s, first + i, &err, false, true);
        return;
    }
    struct branch_conf conf = {.link = {.base = ac->base,
                                        .keys = s->inner.keys,
                                        .hello = ac->hello,
                                        .log = ac->log,
                                        .heartbeat_ms = s->attach->heartbeat_ms,
                                        .grace_ms = s->attach->link_grace_ms},
                               .tree = s->tree,
                               .self = s->vertex,
                               .attach = s->attach,
                               .job = s->job,
                               .term = s->term,
                               .via = s->inner.via};
    s->branch = branch_create(&conf, &ops, s);
}

// Of a message that was unpacked.
static void set_text(char **field, const char *value)
{
    if (*field != protobuf_c_empty_string)
        free(*field);
    *field = xstrdup(value);
}

static void keep_place(struct session *s, const Muster__Reattach *m)
{
    Muster__Member *to = s->attach->members[m->vertex - 1];
    set_text(&to->address, m->address);
    set_text(&to->hostname, m->hostname);
    to->port = m->port;
    if (m->other) {
        set_text(&to->name, m->name);
        set_text(&to->user, m->user);
    }
    s->attach->generation = m->generation;
}

static void take_order(struct session *s, const Muster__Reattach *m)
{
    if (m->other && m->vertex == s->vertex) {
        session_give_way(s); // this agent is dialed at another vertex
        return;
    }
    keep_place(s, m);
    if (s->branch == NULL || tree_parent(&s->tree, m->vertex) != s->vertex)
        return;
    if (m->other)
        branch_exchange(s->branch, m->vertex);
    else
        branch_redial(s->branch, m->vertex);
}

void session_reattach(struct session *s, const struct frame *f)
{
    Muster__Reattach *m = msg_unpack(f, &muster__reattach__descriptor, NULL);
    if (m != NULL && m->vertex > 0 && m->vertex <= s->attach->n_members)
        take_order(s, m);
    msg_free(m);
}
