// One launcher's hold on this agent.
#include "agent/session.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/attempt.h"
#include "agent/handoff.h"
#include "agent/session_internal.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/claim.h"
#include "wire/msg.h"

static void become(struct session *s, enum session_event ev)
{
    enum session_state to = session_fsm_next(s->state, ev);
    log_debug(session_log(s), "session of vertex %u: %s -- %s --> %s", s->vertex,
              session_state_name(s->state), session_event_name(ev),
              session_state_name(to));
    s->state = to;
}

// ---- frames up and down --------------------------------------------------------

void session_up(struct session *s, const struct frame *f)
{
    struct frame out = *f;
    if (s->link == NULL)
        return;
    if (out.src == 0)
        out.src = s->vertex;
    link_send(s->link, &out);
}

struct attempt *session_find_attempt(struct session *s, uint32_t number)
{
    struct running *r;
    DL_FOREACH (s->attempts, r)
        if (attempt_number(r->attempt) == number)
            return r->attempt;
    return NULL;
}

bool session_has_ranks(const struct session *s)
{
    const struct running *r;
    DL_FOREACH (s->attempts, r)
        if (attempt_hosts(r->attempt))
            return true;
    return false;
}

void session_up_attempt_msg(struct session *s, uint16_t kind, uint32_t attempt,
                            const ProtobufCMessage *msg)
{
    BUF_AUTO body = BUF_INIT;
    struct frame f = {.kind = kind, .job = s->job, .term = s->term, .attempt = attempt};
    msg_pack(&f, &body, msg);
    session_up(s, &f);
}

void session_up_msg(struct session *s, uint16_t kind, const ProtobufCMessage *msg)
{
    session_up_attempt_msg(s, kind, 0, msg);
}

void session_drop_stale(struct session *s, const struct frame *f)
{
    log_debug(session_log(s),
              "dropped %s of term %u, which does not hold here; %llu so far",
              frame_kind_name(f->kind), f->term, (unsigned long long)++s->stale);
}

void session_add_attempt(struct session *s, struct attempt *at)
{
    struct running *r = xcalloc(1, sizeof *r);
    r->attempt = at;
    DL_APPEND(s->attempts, r);
}

void session_look_again(struct session *s)
{
    session_claim_look_again(s);
    session_inspect_look_again(s);
    session_place_look_again(s);
}

// Of an attempt that has no ranks here none is left: STOP is answered always.
static void no_ranks(struct session *s, const struct frame *f)
{
    Muster__Stopped m = MUSTER__STOPPED__INIT;
    if (f->kind != FRAME_STOP) {
        log_debug(session_log(s), "dropped %s: no such attempt here",
                  frame_kind_name(f->kind));
        return;
    }
    session_place_stopped(s, f->attempt);
    session_up_attempt_msg(s, FRAME_STOPPED, f->attempt, &m.base);
}

static void take_roll(struct session *s, const struct frame *f)
{
    if (s->claim == NULL)
        s->claim = handoff_claim_create(agent_handoff(s->agent));
    handoff_roll(s->claim, f);
}

static void local_frame(struct session *s, const struct frame *f)
{
    struct attempt *at = session_find_attempt(s, f->attempt);
    if (f->kind == FRAME_REATTACH)
        session_reattach(s, f);
    else if (f->kind == FRAME_ALIVE)
        session_alive(s);
    else if (f->kind == FRAME_ANSWER)
        session_answer(s, f);
    else if (session_claim_frame(s, f))
        return;
    else if (!s->granted)
        session_drop_stale(s, f);
    else if (f->kind == FRAME_ROLL)
        take_roll(s, f);
    else if (f->kind == FRAME_PREPARE)
        session_prepare(s, f);
    else if (f->kind == FRAME_INSPECT)
        session_inspect(s, f);
    else if (at != NULL && (f->kind != FRAME_STOP || attempt_hosts(at)))
        attempt_frame(at, f);
    else
        no_ranks(s, f);
}

void session_route(struct session *s, const struct frame *f)
{
    if (f->dst == s->vertex)
        local_frame(s, f);
    else if (f->dst != 0 && s->branch != NULL &&
             tree_contains(&s->tree, s->vertex, f->dst))
        branch_send(s->branch, f);
    else
        session_up(s, f);
}

void session_to_child(struct session *s, uint32_t child, const struct frame *f)
{
    struct frame out = *f;
    uint32_t first;
    tree_children(&s->tree, s->vertex, &first);
    out.dst = first + child;
    if (s->branch != NULL)
        branch_send(s->branch, &out);
}

// ---- the link above ----------------------------------------------------------------

static void attach(struct session *s, const struct frame *f)
{
    Muster__Attach *m = msg_unpack(f, &muster__attach__descriptor, NULL);
    if (m == NULL || s->state != SESSION_GREETED || s->attach != NULL ||
        m->fanout == 0 || f->dst == 0 || f->dst > m->n_members ||
        strlen(m->job_key) > CLAIM_KEY_MAX) {
        log_warn(session_log(s), "dropped an ATTACH that makes no sense");
        msg_free(m);
        return;
    }
    s->attach = m;
    s->vertex = f->dst;
    s->job = f->job;
    s->term = f->term;
    s->tree =
        (struct tree){.vertices = (uint32_t)m->n_members + 1, .fanout = m->fanout};
    if (!agent_take_over(s->agent, s)) {
        log_warn(session_log(s),
                 "%s came with an ATTACH that is older than one that is "
                 "here: let go",
                 link_peer_text(s->link));
        link_close(s->link);
        return;
    }
    become(s, SESSION_EV_ATTACH);
    loop_timer_disarm(s->bound);
    session_dial_children(s);
    session_claim_attached(s);
}

static int on_up(void *arg, const Muster__Hello *peer, struct err *err)
{
    struct session *s = arg;
    s->address = xstrdup(link_local_address(s->link));
    loop_timer_arm(s->bound, SESSION_ATTACH_MS);
    s->client = strcmp(peer->role, "client") == 0;
    log_at(session_log(s), s->client ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
           "%s %s from %s took hold", peer->role, peer->version,
           link_peer_text(s->link));
    return 0;
}

static void on_frame(void *arg, const struct frame *f)
{
    struct session *s = arg;
    if (f->kind == FRAME_ATTACH) {
        attach(s, f);
        return;
    }
    if (f->kind == FRAME_ASK && s->state == SESSION_GREETED) {
        session_ask(s, f);
        return;
    }
    if (f->kind == FRAME_CLAIM && s->state == SESSION_ATTACHED && f->job == s->job)
        session_claim_raise(s, f->term);
    if (s->state != SESSION_ATTACHED || f->job != s->job || f->term != s->term) {
        session_drop_stale(s, f);
        return;
    }
    if (f->dst == TREE_ALL) {
        if (s->branch != NULL)
            branch_send(s->branch, f);
        local_frame(s, f);
    } else if (tree_contains(&s->tree, s->vertex, f->dst)) {
        session_route(s, f);
    } else {
        log_warn(session_log(s), "dropped %s for vertex %u: it is not below vertex %u",
                 frame_kind_name(f->kind), f->dst, s->vertex);
    }
}

void session_over_when_idle(struct session *s)
{
    if (s->attempts != NULL)
        return;
    if (s->link != NULL) {
        if (s->stopping)
            link_close(s->link);
        return;
    }
    if (s->branch == NULL || branch_attached(s->branch) == 0)
        loop_timer_arm(s->over, 0);
}

static void abandon_all(struct session *s, enum attempt_end how, const char *why)
{
    struct running *r, *tmp;
    DL_FOREACH_SAFE (s->attempts, r, tmp)
        attempt_abandon(r->attempt, how, why);
}

void session_end_ranks(struct session *s, const char *why)
{
    abandon_all(s, ATTEMPT_KILL, why);
}

static void on_bound(evutil_socket_t fd, short what, void *arg)
{
    struct session *s = arg;
    if (s->state == SESSION_GREETED) {
        log_warn(session_log(s), "%s took hold and did not ATTACH within %d s: let go",
                 link_peer_text(s->link), SESSION_ATTACH_MS / 1000);
        link_close(s->link);
        return;
    }
    log_warn(session_log(s),
             "no launcher came back within %u ms: its ranks are stopped",
             s->attach->orphan_grace_ms);
    abandon_all(s, ATTEMPT_ORPHAN, "orphaned");
}

// What is left of the orphan grace (graces.h).
static uint64_t orphan_ms(const struct session *s, uint64_t silent)
{
    uint64_t grace = s->attach->orphan_grace_ms;
    return grace > silent ? grace - silent : 0;
}

static void on_down(void *arg, const struct err *why)
{
    struct session *s = arg;
    uint64_t silent = link_silent_ms(s->link);
    bool in_order = why->kind != NULL && strcmp(why->kind, "CLOSED") == 0;
    log_at(session_log(s), s->client ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
           "%s let go: %s", link_peer_text(s->link), err_text(why));
    link_destroy(s->link);
    s->link = NULL;
    loop_timer_disarm(s->bound);
    handoff_lost(s->claim);
    session_inspect_cancel(s);
    // The subtree learns it the same way: by BYE, or by a link that breaks.
    if (s->branch != NULL && in_order) {
        branch_close(s->branch);
    } else {
        branch_destroy(s->branch);
        s->branch = NULL;
    }
    if (in_order || agent_conf(s->agent)->once) {
        become(s, SESSION_EV_CLOSED);
        session_end_ranks(s, "the launcher has gone");
    } else {
        become(s, SESSION_EV_LOST);
        if (s->attempts != NULL)
            loop_timer_arm(s->bound, orphan_ms(s, silent));
    }
    session_doubt_over(s);
    session_over_when_idle(s);
}

static void on_broken(void *arg, const struct err *why)
{
    const struct session *s = arg;
    log_info(session_log(s), "connection to %s lost: %s; it may come back",
             link_peer_text(s->link), err_text(why));
    handoff_lost(s->claim);
}

static void on_resumed(void *arg)
{
    const struct session *s = arg;
    log_info(session_log(s), "%s came back", link_peer_text(s->link));
    handoff_back(s->claim);
}

const struct link_ops *session_link_ops(void)
{
    static const struct link_ops ops = {on_up, on_frame, on_down, on_broken,
                                        on_resumed};
    return &ops;
}

// ---- life --------------------------------------------------------------------------

static void on_over(evutil_socket_t fd, short what, void *arg)
{
    struct session *s = arg;
    agent_session_over(s->agent, s);
}

static void on_doubt(evutil_socket_t fd, short what, void *arg)
{
    session_doubt_over(arg);
}

struct session *session_create(struct agent *a)
{
    struct session *s = xcalloc(1, sizeof *s);
    s->agent = a;
    s->bound = loop_timer(agent_conf(a)->base, on_bound, s);
    s->over = loop_timer(agent_conf(a)->base, on_over, s);
    s->doubt = loop_timer(agent_conf(a)->base, on_doubt, s);
    return s;
}

void session_own_link(struct session *s, struct link *link)
{
    s->link = link;
}

struct link *session_link(const struct session *s)
{
    return s->link;
}

void session_destroy(struct session *s)
{
    struct running *r, *tmp;
    DL_FOREACH_SAFE (s->attempts, r, tmp) {
        attempt_destroy(r->attempt);
        free(r);
    }
    session_inspect_cancel(s);
    handoff_claim_destroy(s->claim);
    branch_destroy(s->branch);
    inner_close(&s->inner);
    link_destroy(s->link);
    msg_free(s->attach);
    session_place_forget(s);
    loop_timer_free(s->bound);
    loop_timer_free(s->over);
    loop_timer_free(s->doubt);
    free(s->taken_by);
    free(s->note);
    free(s->address);
    free(s);
}

static bool is_of_job(const struct session *s, const struct session *other)
{
    return s != other && s->attach != NULL && other->attach != NULL &&
           s->job == other->job;
}

static bool has_same_launcher(const struct session *s, const struct session *other)
{
    const ProtobufCBinaryData *a = &s->attach->launcher, *b = &other->attach->launcher;
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

bool session_is_of(const struct session *s, const struct session *other)
{
    return is_of_job(s, other) && has_same_launcher(s, other);
}

bool session_is_rival(const struct session *s, const struct session *other)
{
    return is_of_job(s, other) && !has_same_launcher(s, other);
}

bool session_is_leaving(const struct session *s)
{
    return s->attempts != NULL && (s->state == SESSION_CLOSING || !s->granted);
}

bool session_is_holding(const struct session *s)
{
    return s->attempts != NULL || (s->state == SESSION_ATTACHED && s->granted);
}

int session_compare(const struct session *a, const struct session *b)
{
    if (a->term != b->term)
        return a->term < b->term ? -1 : 1;
    if (a->attach->generation != b->attach->generation)
        return a->attach->generation < b->attach->generation ? -1 : 1;
    return a->vertex == b->vertex ? -1 : 0;
}

void session_give_way(struct session *s)
{
    log_info(session_log(s),
             "the job took hold anew: what is left of its ranks is killed");
    link_destroy(s->link);
    s->link = NULL;
    loop_timer_disarm(s->bound);
    branch_destroy(s->branch);
    s->branch = NULL;
    handoff_lost(s->claim);
    session_inspect_cancel(s);
    become(s, SESSION_EV_GIVE_WAY);
    abandon_all(s, ATTEMPT_KILL, "the job took hold anew");
    session_over_when_idle(s);
}

void session_stop(struct session *s, const char *why)
{
    s->stopping = true;
    session_inspect_cancel(s);
    abandon_all(s, ATTEMPT_IN_ORDER, why);
    session_over_when_idle(s);
}

bool session_is_stopping(const struct session *s)
{
    return s->stopping;
}

void session_attempt_over(struct session *s, struct attempt *at)
{
    struct running *r, *tmp;
    DL_FOREACH_SAFE (s->attempts, r, tmp) {
        if (r->attempt != at)
            continue;
        DL_DELETE(s->attempts, r);
        free(r);
    }
    attempt_destroy(at);
    if (s->attempts == NULL)
        agent_look_again(s->agent);
    session_over_when_idle(s);
}

struct agent *session_agent(struct session *s)
{
    return s->agent;
}

const struct tree *session_tree(const struct session *s)
{
    return &s->tree;
}

uint32_t session_vertex(const struct session *s)
{
    return s->vertex;
}

const char *session_note(const struct session *s)
{
    return s->note;
}

struct handoff_claim *session_claim(const struct session *s)
{
    return s->claim;
}

const char *session_local_address(const struct session *s)
{
    return s->address != NULL ? s->address : "";
}
