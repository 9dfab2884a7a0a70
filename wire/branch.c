// Links to the children of one vertex.
#include "wire/branch.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/branch_state.h"
#include "wire/msg.h"
#include "wire/via.h"

enum { RETRY_FIRST_MS = 50, RETRY_MAX_MS = 1000, DIALS_AT_ONCE = 64 };

struct child {
    struct branch *branch;
    uint32_t vertex;
    enum child_state state;
    struct link *link;
    struct link_via via; // of this member, with branch_conf.via
    struct event *retry;
    uint32_t backoff_ms;
    unsigned tries;
    uint64_t silent_ms; // lost: before that
    bool hung_up;       // lost: so
    bool lost;          // once, or given up
    bool again;         // branch_redial after that: no failure is the last
};

struct branch {
    struct branch_conf conf;
    const struct branch_ops *ops;
    void *arg;
    struct child *children; // consecutive vertices from `first`
    uint32_t first, n;
    uint32_t dialing;
    uint64_t deadline_ms;
    bool closing;
    int depth;
    bool doomed;
};

static void free_branch(struct branch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        link_destroy(b->children[i].link);
        loop_timer_free(b->children[i].retry);
    }
    free(b->children);
    free(b);
}

static void enter(struct branch *b)
{
    b->depth++;
}

static void leave(struct branch *b)
{
    if (--b->depth == 0 && b->doomed)
        free_branch(b);
}

// Keeps count of those that are dialed.
static void become(struct child *c, enum child_event ev)
{
    struct branch *b = c->branch;
    enum child_state was = c->state, to = child_state_next(was, ev);
    if (to == was)
        return;
    log_debug(b->conf.link.log, "vertex %u: %s -- %s --> %s", c->vertex,
              child_state_name(was), child_event_name(ev), child_state_name(to));
    c->state = to;
    b->dialing += to == CHILD_DIALING ? 1 : 0;
    b->dialing -= was == CHILD_DIALING ? 1 : 0;
}

static void dial(struct child *c);

static const Muster__Member *member_of(const struct child *c)
{
    return c->branch->conf.attach->members[c->vertex - 1];
}

// For the first time: one without an address waits to be adopted.
static bool may_dial(const struct child *c)
{
    return c->state == CHILD_WAITING && c->tries == 0 &&
           member_of(c)->address[0] != '\0';
}

static void dial_next(struct branch *b)
{
    for (uint32_t i = 0; i < b->n && b->dialing < DIALS_AT_ONCE; i++)
        if (may_dial(&b->children[i]))
            dial(&b->children[i]);
}

static bool is_final(const struct branch *b, const struct err *why)
{
    static const char *const kinds[] = {
        "KEY", "VERSION", "REFUSED", "ADDRESS", "REMOTE_EXEC", "REMOTE_EXEC_NOT_FOUND"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (why->kind != NULL && strcmp(why->kind, kinds[i]) == 0)
            return true;
    return b->closing || loop_now_ms() >= b->deadline_ms;
}

// A try failed: again later, or never.
static void fail_try(struct child *c, const struct err *why)
{
    struct branch *b = c->branch;
    bool final = c->again ? b->closing : is_final(b, why);
    become(c, final ? CHILD_EV_GIVE_UP : CHILD_EV_FAIL);
    c->lost = c->lost || final;
    if (!final) {
        loop_timer_arm(c->retry, c->backoff_ms);
        c->backoff_ms =
            c->backoff_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : c->backoff_ms * 2;
    }
    if (!b->closing)
        b->ops->missing(b->arg, c->vertex, why, final);
}

// An address that was a pod's can be another one's by now, of the same group.
static bool is_expected(const struct child *c, const Muster__Hello *peer,
                        struct err *err)
{
    const Muster__Member *m = member_of(c);
    if (m->hostname[0] == '\0' || strcmp(m->hostname, peer->hostname) == 0)
        return true;
    err_set_kind(
        err, "OTHER_POD", 0,
        "%s is another pod's now: the agent there is that of host '%s', and %s "
        "is on '%s'",
        m->address, peer->hostname, m->name, m->hostname);
    return false;
}

static int on_up(void *arg, const Muster__Hello *peer, struct err *err)
{
    struct child *c = arg;
    struct branch *b = c->branch;
    if (!is_expected(c, peer, err))
        return -1;
    enter(b);
    become(c, CHILD_EV_UP);
    struct frame f = {.kind = FRAME_ATTACH,
                      .job = b->conf.job,
                      .term = b->conf.term,
                      .src = b->conf.self,
                      .dst = c->vertex};
    link_send_msg(c->link, &f, &b->conf.attach->base);
    b->ops->attached(b->arg, c->vertex, peer);
    if (!b->doomed)
        dial_next(b);
    leave(b);
    return 0;
}

// Who is there, and who commands, is said below PREPARE; it may have been on its way when
// the term was raised, and holds.
static bool is_of_branch(const struct branch *b, const struct frame *f)
{
    bool holds = f->term < b->conf.term && f->kind < FRAME_PREPARE;
    return f->job == b->conf.job && (f->term == b->conf.term || holds);
}

static void on_frame(void *arg, const struct frame *f)
{
    struct child *c = arg;
    struct branch *b = c->branch;
    if (!is_of_branch(b, f)) {
        log_warn(b->conf.link.log, "dropped %s from %s: it is of another job or term",
                 frame_kind_name(f->kind), link_peer_text(c->link));
        return;
    }
    if (!tree_contains(&b->conf.tree, c->vertex, f->src)) {
        log_warn(b->conf.link.log,
                 "dropped %s from %s: it claims to come from vertex %u",
                 frame_kind_name(f->kind), link_peer_text(c->link), f->src);
        return;
    }
    enter(b);
    b->ops->frame(b->arg, f);
    leave(b);
}

static void on_down(void *arg, const struct err *why)
{
    struct child *c = arg;
    struct branch *b = c->branch;
    enter(b);
    enum child_state was = c->state;
    ERR_AUTO text = ERR_INIT;
    err_copy(&text, why);
    c->silent_ms = link_silent_ms(c->link);
    c->hung_up = link_hung_up(c->link);
    link_destroy(c->link);
    c->link = NULL;
    if (was == CHILD_DIALING) {
        fail_try(c, &text);
        if (!b->doomed)
            dial_next(b);
    } else if (was == CHILD_ATTACHED) {
        become(c, CHILD_EV_LOSE);
        c->lost = true;
        b->ops->lost(b->arg, c->vertex, &text);
    }
    leave(b);
}

static void on_broken(void *arg, const struct err *why)
{
    struct child *c = arg;
    struct branch *b = c->branch;
    enter(b);
    if (b->ops->broken != NULL)
        b->ops->broken(b->arg, c->vertex, why);
    leave(b);
}

static void on_resumed(void *arg)
{
    struct child *c = arg;
    struct branch *b = c->branch;
    enter(b);
    if (b->ops->resumed != NULL)
        b->ops->resumed(b->arg, c->vertex);
    leave(b);
}

static const struct link_ops link_ops = {on_up, on_frame, on_down, on_broken,
                                         on_resumed};

static socklen_t parse_address(const Muster__Member *m, struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (void *)out;
    struct sockaddr_in6 *v6 = (void *)out;
    memset(out, 0, sizeof *out);
    if (m->port == 0 || m->port > UINT16_MAX)
        return 0;
    if (inet_pton(AF_INET, m->address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)m->port);
        return sizeof *v4;
    }
    if (inet_pton(AF_INET6, m->address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)m->port);
        return sizeof *v6;
    }
    return 0;
}

static void dial(struct child *c)
{
    struct branch *b = c->branch;
    const Muster__Member *m = member_of(c);
    struct sockaddr_storage addr;
    socklen_t len = parse_address(m, &addr);
    c->tries++;
    if (len == 0) {
        ERR_AUTO err = ERR_INIT;
        err_set_kind(&err, "ADDRESS", 0, "'%s' port %u is no IPv4 or IPv6 address",
                     m->address, m->port);
        fail_try(c, &err);
        return;
    }
    become(c, CHILD_EV_DIAL);
    if (b->conf.via == NULL) {
        c->link = link_dial(&b->conf.link, (struct sockaddr *)&addr, len, &link_ops, c);
        return;
    }
    c->via = via_of_member(b->conf.via, m);
    c->link = link_dial_exec(&b->conf.link, &c->via, (struct sockaddr *)&addr, len,
                             &link_ops, c);
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    struct child *c = arg;
    struct branch *b = c->branch;
    enter(b);
    if (c->state == CHILD_WAITING && c->tries == 0)
        dial_next(b);
    else if (c->state == CHILD_WAITING)
        dial(c);
    leave(b);
}

struct branch *branch_create(const struct branch_conf *conf,
                             const struct branch_ops *ops, void *arg)
{
    struct branch *b = xcalloc(1, sizeof *b);
    b->conf = *conf;
    b->ops = ops;
    b->arg = arg;
    b->deadline_ms = loop_now_ms() + conf->attach->connect_ms;
    b->n = tree_children(&conf->tree, conf->self, &b->first);
    b->children = xcalloc(b->n, sizeof *b->children);
    for (uint32_t i = 0; i < b->n; i++) {
        struct child *c = &b->children[i];
        c->branch = b;
        c->vertex = b->first + i;
        c->backoff_ms = RETRY_FIRST_MS;
        c->retry = loop_timer(conf->link.base, on_retry, c);
        if (may_dial(c))
            loop_timer_arm(c->retry, 0);
    }
    return b;
}

void branch_adopt(struct branch *b, uint32_t vertex, int in, int out)
{
    struct child *c = &b->children[vertex - b->first];
    loop_timer_disarm(c->retry);
    c->tries++;
    become(c, CHILD_EV_DIAL);
    c->link = link_over_fds(&b->conf.link, in, out, &link_ops, c);
}

static void lose_moved(struct child *c)
{
    ERR_AUTO err = ERR_INIT;
    err_set_kind(
        &err, "LOST", 0,
        "its connection is broken, and it has another address now (its pod was "
        "replaced)");
    on_down(c, &err);
}

static void let_go(struct child *c, enum child_event ev)
{
    link_destroy(c->link);
    c->link = NULL;
    become(c, ev);
}

static void dial_anew(struct child *c)
{
    c->tries++;
    c->backoff_ms = RETRY_FIRST_MS;
    loop_timer_disarm(c->retry);
    if (member_of(c)->address[0] != '\0')
        loop_timer_arm(c->retry, 0);
}

static void redial(struct child *c)
{
    struct branch *b = c->branch;
    if (c->state == CHILD_ATTACHED && link_seems_gone(c->link))
        lose_moved(c);
    if (c->state == CHILD_ATTACHED || b->closing)
        return;
    let_go(c, CHILD_EV_REDIAL);
    c->again = c->lost;
    dial_anew(c);
}

void branch_set_term(struct branch *b, uint32_t term)
{
    b->conf.term = term;
}

void branch_redial(struct branch *b, uint32_t vertex)
{
    enter(b);
    redial(&b->children[vertex - b->first]);
    leave(b);
}

void branch_exchange(struct branch *b, uint32_t vertex)
{
    struct child *c = &b->children[vertex - b->first];
    if (b->closing)
        return;
    let_go(c, CHILD_EV_EXCHANGE);
    c->lost = c->again = true;
    dial_anew(c);
}

static int send_to(struct child *c, const struct frame *f)
{
    if (c->state != CHILD_ATTACHED)
        return -1;
    link_send(c->link, f);
    return 0;
}

int branch_send(struct branch *b, const struct frame *f)
{
    if (f->dst == TREE_ALL) {
        for (uint32_t i = 0; i < b->n; i++)
            send_to(&b->children[i], f);
        return 0;
    }
    uint32_t hop = tree_next_hop(&b->conf.tree, b->conf.self, f->dst);
    if (hop < b->first || hop >= b->first + b->n)
        return -1;
    return send_to(&b->children[hop - b->first], f);
}

int branch_send_msg(struct branch *b, const struct frame *f,
                    const ProtobufCMessage *msg)
{
    BUF_AUTO body = BUF_INIT;
    struct frame out = *f;
    msg_pack(&out, &body, msg);
    return branch_send(b, &out);
}

void branch_close(struct branch *b)
{
    b->closing = true;
    for (uint32_t i = 0; i < b->n; i++) {
        struct child *c = &b->children[i];
        loop_timer_disarm(c->retry);
        if (c->state == CHILD_ATTACHED) {
            link_close(c->link);
            continue;
        }
        link_destroy(c->link);
        c->link = NULL;
        become(c, CHILD_EV_GIVE_UP);
    }
}

uint64_t branch_silent_ms(const struct branch *b, uint32_t vertex)
{
    return b->children[vertex - b->first].silent_ms;
}

bool branch_hung_up(const struct branch *b, uint32_t vertex)
{
    return b->children[vertex - b->first].hung_up;
}

uint32_t branch_attached(const struct branch *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n; i++)
        n += b->children[i].state == CHILD_ATTACHED ? 1 : 0;
    return n;
}

void branch_destroy(struct branch *b)
{
    if (b == NULL)
        return;
    b->doomed = true;
    if (b->depth == 0)
        free_branch(b);
}
