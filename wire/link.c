// Links: handshake, numbering, heartbeats and the orderly end, over any transport.
#include "wire/link.h"

#include <event2/event.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/link_internal.h"
#include "wire/link_redial.h"
#include "wire/link_resume.h"
#include "wire/msg.h"

enum {
    OPEN_MS = 10000,
    LINGER_MS = 1000, // for the peer's last word once ours is written
    QUEUE_MAX = 512 << 20,
};

// ---- life -------------------------------------------------------------------

bool link_move(struct link *l, enum link_event ev, const char *why)
{
    enum link_state from = l->state;
    if (!link_state_next(&l->state, ev))
        return false;
    log_debug(l->conf.log, "link %s: %s -> %s (%s%s%s)", l->peer, link_state_name(from),
              link_state_name(l->state), link_event_name(ev), why != NULL ? ": " : "",
              why != NULL ? why : "");
    return true;
}

void link_free(struct link *l)
{
    if (l->transport != NULL)
        l->t->destroy(l->transport);
    loop_timer_free(l->deadline);
    loop_timer_free(l->tick);
    loop_timer_free(l->kick);
    link_redial_destroy(l->redial);
    for (int i = 0; i < 2; i++)
        replay_destroy(l->lanes[i].queue);
    err_clear(&l->reason);
    err_clear(&l->lost);
    free(l->peer);
    free(l->local);
    free(l);
}

void link_core_enter(struct link *l)
{
    l->depth++;
}

void link_core_leave(struct link *l)
{
    if (--l->depth > 0)
        return;
    if (l->doomed) {
        link_free(l);
    } else if (link_resume_ready(l)) {
        link_resume_hand_over(l);
    } else if (!link_core_alive(l) && l->transport != NULL) {
        l->t->destroy(l->transport);
        l->transport = NULL;
    }
}

bool link_core_alive(const struct link *l)
{
    return !link_ended(l) && l->state != LINK_BROKEN;
}

void link_end(struct link *l, const struct err *why)
{
    if (link_ended(l))
        return;
    ERR_AUTO copy = ERR_INIT; // `why` may be the link's own, and down() may destroy it
    err_copy(&copy, why);
    link_move(l, LINK_EV_END, copy.text);
    loop_timer_disarm(l->deadline);
    loop_timer_disarm(l->tick);
    loop_timer_disarm(l->kick);
    if (l->redial != NULL)
        link_redial_stop(l->redial);
    l->ops->down(l->arg, &copy);
}

void link_end_kind(struct link *l, const char *kind, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    ERR_AUTO err = ERR_INIT;
    err_set_kind(&err, kind, 0, "%s", text);
    link_end(l, &err);
}

void link_core_fail(struct link *l, const struct err *why)
{
    // Both sides have said all they had to say: this is how it was meant to end.
    if (l->state == LINK_CLOSING && (l->refusing || l->bye_seen))
        link_end(l, &l->reason);
    else if (link_resume_can(l, why))
        link_resume_break(l, why);
    else
        link_end(l, why);
}

void link_core_fail_later(struct link *l, const struct err *why)
{
    if (link_ended(l) || l->failing)
        return;
    l->failing = true;
    err_copy(&l->reason, why);
    event_active(l->kick, EV_TIMEOUT, 0);
}

static void on_kick(int fd, short what, void *arg)
{
    struct link *l = arg;
    link_core_enter(l);
    link_end(l, &l->reason);
    link_core_leave(l);
}

static void on_deadline(int fd, short what, void *arg)
{
    struct link *l = arg;
    link_core_enter(l);
    if (l->state == LINK_BROKEN)
        link_resume_time_over(l);
    else
        link_end_kind(l, "TIMEOUT", "no answer within %g s (%s)",
                      l->conf.open_ms / 1000.0,
                      l->state == LINK_GREETING ? "HELLO" : l->t->stage(l->transport));
    link_core_leave(l);
}

// ---- sending ----------------------------------------------------------------

static void transmit(struct link *l, struct frame *f, bool last)
{
    struct lane *lane = &l->lanes[frame_is_bulk(f->kind)];
    f->ack = lane->told = lane->received;
    lane->untold = 0;
    l->spoke = true;
    if (l->transport == NULL)
        replay_add(lane->queue, f);
    else
        (last ? l->t->send_last : l->t->send)(l->transport, f);
}

void link_send_own(struct link *l, enum frame_kind kind, const ProtobufCMessage *msg)
{
    BUF_AUTO body = BUF_INIT;
    struct frame f = {.kind = (uint16_t)kind};
    if (msg != NULL)
        msg_pack(&f, &body, msg);
    transmit(l, &f, kind == FRAME_BYE || kind == FRAME_BYE_ACK);
}

static bool overflows(struct link *l, size_t more)
{
    size_t held = replay_held(l->lanes[0].queue) + replay_held(l->lanes[1].queue);
    size_t pending = l->transport != NULL ? l->t->pending(l->transport) : 0;
    size_t wait = (held > pending ? held : pending) + more;
    if (wait <= l->conf.queue_max)
        return false;
    ERR_AUTO err = ERR_INIT;
    if (l->state == LINK_BROKEN)
        err_set_kind(&err, "OVERFLOW", 0, "%s; %zu MiB wait for it to come back",
                     err_text(&l->lost), wait >> 20);
    else
        err_set_kind(&err, "OVERFLOW", 0,
                     "the peer does not take what it is sent: %zu MiB wait",
                     wait >> 20);
    link_core_fail_later(l, &err);
    return true;
}

void link_send(struct link *l, const struct frame *f)
{
    bool open = l->state == LINK_UP || (l->state == LINK_BROKEN && !l->close_wanted);
    if (!open || l->doomed || l->failing || overflows(l, f->len))
        return;
    struct frame out = *f;
    out.seq = ++l->lanes[frame_is_bulk(f->kind)].sent;
    transmit(l, &out, false);
}

void link_send_msg(struct link *l, const struct frame *f, const ProtobufCMessage *msg)
{
    BUF_AUTO body = BUF_INIT;
    struct frame out = *f;
    msg_pack(&out, &body, msg);
    link_send(l, &out);
}

// ---- closing ----------------------------------------------------------------

static void begin_closing(struct link *l, const char *kind, const char *text)
{
    err_set_kind(&l->reason, kind, 0, "%s", text);
    loop_timer_disarm(l->deadline);
    l->close_by = loop_now_ms() + l->conf.open_ms;
    link_move(l, LINK_EV_CLOSE, text);
}

void link_refuse(struct link *l, const char *kind, const char *text)
{
    CLEANUP_FREE char *copy = xstrdup(text);
    Muster__Refuse msg = MUSTER__REFUSE__INIT;
    msg.reason = copy;
    link_send_own(l, FRAME_REFUSE, &msg.base);
    l->refusing = true;
    begin_closing(l, kind, text);
}

void link_close(struct link *l)
{
    if (link_ended(l) || l->state == LINK_CLOSING || l->failing)
        return;
    if (l->state == LINK_BROKEN) {
        link_resume_close(l);
        return;
    }
    if (l->state == LINK_UP) {
        begin_closing(l, "CLOSED", "closed");
        link_send_own(l, FRAME_BYE, NULL);
        return;
    }
    ERR_AUTO err = ERR_INIT;
    err_set_kind(&err, "CLOSED", 0, "closed before it was up");
    link_core_fail_later(l, &err);
}

static void watch_closing(struct link *l, uint64_t now)
{
    bool written = l->t->pending(l->transport) == 0;
    if (written && l->linger_by == 0)
        l->linger_by = now + LINGER_MS;
    if (now >= l->close_by || (written && now >= l->linger_by))
        link_end(l, &l->reason);
}

// ---- heartbeats -------------------------------------------------------------

uint64_t link_silent_ms(const struct link *l)
{
    uint64_t now = loop_now_ms();
    return l->heard > 0 && l->heard < now ? now - l->heard : 0;
}

static void listen_for_life(struct link *l, uint64_t now)
{
    uint64_t bytes = l->t->received(l->transport);
    // A tick that comes late says that this process did not run, not that the peer did
    // not.
    if (now - l->ticked > 2 * (uint64_t)l->tick_ms)
        l->heard += now - l->ticked - l->tick_ms;
    if (bytes != l->heard_bytes || l->heard > now)
        l->heard = now;
    l->heard_bytes = bytes;
    if (now - l->heard < l->conf.dead_ms)
        return;
    ERR_AUTO err = ERR_INIT;
    err_set_kind(&err, "SILENT", 0, "no sign of life for %.1f s",
                 (double)(now - l->heard) / 1000);
    link_core_fail(l, &err);
}

static void give_sign_of_life(struct link *l, uint64_t now)
{
    if (!l->spoke && now - l->spoken + l->tick_ms > l->conf.heartbeat_ms)
        link_send_own(l, FRAME_PING, NULL);
    if (l->spoke)
        l->spoken = now;
    l->spoke = false;
}

static void on_tick(int fd, short what, void *arg)
{
    struct link *l = arg;
    uint64_t now = loop_now_ms();
    link_core_enter(l);
    loop_timer_arm(l->tick, l->tick_ms); // a link that ends or breaks disarms it
    if (l->state == LINK_CLOSING)
        watch_closing(l, now);
    if (l->state == LINK_UP || l->state == LINK_CLOSING)
        listen_for_life(l, now);
    if (l->state == LINK_UP || (l->state == LINK_CLOSING && !l->bye_seen)) {
        link_resume_tell(l);
        give_sign_of_life(l, now);
    }
    l->ticked = now;
    link_core_leave(l);
}

// ---- the link's own frames --------------------------------------------------

static bool same_major(struct link *l, const Muster__Hello *peer)
{
    const Muster__Hello *own = &l->hello;
    if (peer->major == own->major)
        return true;
    // The same text on both ends: it must not say "this" and "the other".
    CLEANUP_FREE char *text = xasprintf(
        "%.40s speaks protocol %u (version %.40s), %.40s speaks protocol %u (version "
        "%.40s): the whole group must run the same major version",
        own->role, own->major, own->version, peer->role, peer->major, peer->version);
    link_refuse(l, "VERSION", text);
    return false;
}

static void set_heartbeat(struct link *l, uint32_t heartbeat_ms, uint32_t dead_ms)
{
    l->conf.heartbeat_ms = heartbeat_ms;
    l->conf.dead_ms = dead_ms > 0 ? dead_ms : heartbeat_ms * LINK_DEAD_BEATS;
    uint32_t beat = heartbeat_ms / 2, dead = l->conf.dead_ms / 8;
    uint32_t finest = beat < dead ? beat : dead;
    l->tick_ms = finest > 0 ? finest : 1;
}

static void obey_heartbeat(struct link *l, const Muster__Hello *peer)
{
    uint32_t ms = peer->heartbeat_ms;
    if (!l->obeys || ms < LINK_HEARTBEAT_MIN_MS || ms > LINK_HEARTBEAT_MAX_MS)
        return;
    set_heartbeat(l, ms, 0);
    if (l->t->tune != NULL)
        l->t->tune(l->transport, l->conf.dead_ms);
}

static void greet(struct link *l, const Muster__Hello *peer)
{
    if (l->greeter != NULL && l->greeter(l->greeter_arg, l, &l->ops, &l->arg) < 0) {
        if (link_core_alive(l))
            link_refuse(l, "REFUSED", "nobody here takes this link");
        return;
    }
    if (!link_core_alive(l) || !same_major(l, peer))
        return;
    loop_timer_disarm(l->deadline);
    link_move(l, LINK_EV_GREETED, NULL);
    link_resume_agree(l, peer);
    obey_heartbeat(l, peer);
    ERR_AUTO err = ERR_INIT;
    if (l->ops->up(l->arg, peer, &err) < 0 && l->state == LINK_UP && !l->doomed)
        link_refuse(l, err.kind != NULL ? err.kind : "REFUSED", err_text(&err));
}

static void on_hello(struct link *l, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Hello *peer = l->state == LINK_GREETING
                              ? msg_unpack(f, &muster__hello__descriptor, &err)
                              : NULL;
    if (peer == NULL)
        link_end_kind(l, "PROTOCOL", "%s",
                      err.text != NULL ? err.text : "a second HELLO");
    else if (l->heir != NULL || (l->finder != NULL && peer->resume != NULL))
        link_resume_hello(l, peer);
    else
        greet(l, peer);
    msg_free(peer);
}

static void on_refuse(struct link *l, const struct frame *f)
{
    Muster__Refuse *msg = msg_unpack(f, &muster__refuse__descriptor, NULL);
    if (l->refusing)
        link_end(l, &l->reason);
    else
        link_end_kind(l, "REFUSED", "the peer refused: %.1000s",
                      msg != NULL && msg->reason[0] != '\0' ? msg->reason
                                                            : "no reason given");
    msg_free(msg);
}

static void on_bye(struct link *l, const struct frame *f)
{
    l->bye_seen = true;
    if (l->refusing)
        return;
    if (l->state == LINK_UP)
        begin_closing(l, "CLOSED", "closed by the peer");
    link_send_own(l, FRAME_BYE_ACK, NULL);
}

static void on_bye_ack(struct link *l, const struct frame *f)
{
    if (l->state == LINK_CLOSING)
        link_end(l, &l->reason);
    else
        link_end_kind(l, "PROTOCOL", "BYE_ACK without a BYE");
}

static void on_ping(struct link *l, const struct frame *f)
{
    // That it came is all there is to it: received() has counted it.
}

static void on_numbered(struct link *l, const struct frame *f)
{
    struct lane *lane = &l->lanes[frame_is_bulk(f->kind)];
    if (l->refusing || l->bye_seen)
        return;
    if (f->seq != lane->received + 1) {
        link_end_kind(l, "PROTOCOL", "frame %s has number %llu where %llu was due",
                      frame_kind_name(f->kind), (unsigned long long)f->seq,
                      (unsigned long long)lane->received + 1);
        return;
    }
    lane->received++;
    link_resume_count(l, f);
    l->ops->frame(l->arg, f);
}

// May a frame of this kind come now?
static bool is_due(const struct link *l, uint16_t kind)
{
    bool first = kind == FRAME_HELLO || kind == FRAME_REFUSE;
    return l->state != LINK_GREETING || first || (l->greeted && kind == FRAME_RESUMED);
}

void link_core_frame(struct link *l, const struct frame *f)
{
    static void (*const own[])(struct link *, const struct frame *) = {
        [FRAME_HELLO] = on_hello,
        [FRAME_REFUSE] = on_refuse,
        [FRAME_PING] = on_ping,
        [FRAME_BYE] = on_bye,
        [FRAME_BYE_ACK] = on_bye_ack,
        [FRAME_ACK] = link_resume_on_ack,
        [FRAME_RESUMED] = link_resume_on_resumed,
    };
    if (!link_core_alive(l) || l->failing)
        return;
    link_resume_take_ack(l, f);
    if (!link_core_alive(l))
        return;
    if (!is_due(l, f->kind))
        link_end_kind(l, "PROTOCOL", "%s before HELLO", frame_kind_name(f->kind));
    else if (f->kind < sizeof own / sizeof *own && own[f->kind] != NULL)
        own[f->kind](l, f);
    else
        on_numbered(l, f);
}

// ---- for transports ---------------------------------------------------------

void link_core_connected(struct link *l)
{
    link_move(l, LINK_EV_CONNECTED, NULL);
}

void link_start_ticking(struct link *l)
{
    l->ticked = l->heard = l->spoken = loop_now_ms();
    l->heard_bytes = l->t->received(l->transport);
    l->spoke = false;
    loop_timer_arm(l->tick, l->tick_ms);
}

void link_core_opened(struct link *l)
{
    if (l->doomed || l->failing || !link_move(l, LINK_EV_OPENED, NULL))
        return;
    link_start_ticking(l);
    link_send_own(l, FRAME_HELLO, &l->hello.base);
}

struct link *link_core_create(const struct link_conf *conf, const char *peer,
                              enum link_state state, const struct link_ops *ops,
                              void *arg)
{
    struct link *l = xcalloc(1, sizeof *l);
    l->conf = *conf;
    l->conf.open_ms = conf->open_ms > 0 ? conf->open_ms : OPEN_MS;
    l->conf.queue_max = conf->queue_max > 0 ? conf->queue_max : QUEUE_MAX;
    l->hello = *conf->hello;
    l->hello.heartbeat_ms = conf->heartbeat_ms;
    l->obeys = conf->heartbeat_ms == 0;
    set_heartbeat(l, l->obeys ? LINK_HEARTBEAT_MS : conf->heartbeat_ms, conf->dead_ms);
    if (l->hello.major == 0) {
        l->hello.major = WIRE_MAJOR;
        l->hello.minor = WIRE_MINOR;
    }
    l->peer = xstrdup(peer);
    l->local = xstrdup("");
    l->state = state;
    l->ops = ops;
    l->arg = arg;
    for (int i = 0; i < 2; i++)
        l->lanes[i].queue = replay_create();
    l->deadline = loop_timer(conf->base, on_deadline, l);
    l->tick = loop_timer(conf->base, on_tick, l);
    l->kick = loop_timer(conf->base, on_kick, l);
    loop_timer_arm(l->deadline, l->conf.open_ms);
    return l;
}

void link_core_attach(struct link *l, const struct link_transport_ops *ops, void *t)
{
    l->t = ops;
    l->transport = t;
}

uint32_t link_core_dead_ms(const struct link *l)
{
    return l->conf.dead_ms;
}

void link_core_set_local(struct link *l, const char *address)
{
    free(l->local);
    l->local = xstrdup(address);
}

void link_core_no_deadline(struct link *l)
{
    loop_timer_disarm(l->deadline);
}

void link_core_set_greeter(struct link *l, link_greeter_fn greeter, void *greeter_arg)
{
    l->greeter = greeter;
    l->greeter_arg = greeter_arg;
}

// ---- the rest ---------------------------------------------------------------

enum link_state link_get_state(const struct link *l)
{
    return l->state;
}

const char *link_peer_text(const struct link *l)
{
    return l->peer;
}

const char *link_local_address(const struct link *l)
{
    return l->local;
}

void link_destroy(struct link *l)
{
    if (l == NULL)
        return;
    l->doomed = true;
    // Nothing of it happens any more, even while it waits for its own call to return.
    loop_timer_disarm(l->deadline);
    loop_timer_disarm(l->tick);
    loop_timer_disarm(l->kick);
    if (l->depth == 0)
        link_free(l);
}
