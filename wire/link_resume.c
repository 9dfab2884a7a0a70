// A link on a new connection: what is kept, exchanged and sent again.
#include "wire/link_resume.h"

#include <event2/event.h>
#include <string.h>
#include <sys/random.h>

#include "common/loop.h"
#include "common/mem.h"
#include "wire/graces.h"
#include "wire/link_redial.h"
#include "wire/msg.h"

enum {
    ACK_BYTES = 512 * 1024,    // received and not acknowledged: worth a frame
    GRACE_MAX_MS = 600 * 1000, // that a dialler can ask for
    CLOSE_AWAY_MS = 2000,      // to say goodbye on another connection
};

// ---- agreeing ---------------------------------------------------------------

void link_core_set_finder(struct link *l, link_finder_fn finder)
{
    l->finder = finder;
    l->hello.resumes = true;
}

static void name_session(struct link *l)
{
    l->hello.session = (ProtobufCBinaryData){sizeof l->session, l->session};
}

void link_core_set_redial(struct link *l, struct link_redial *redial)
{
    l->redial = redial;
    while (getrandom(l->session, sizeof l->session, 0) != (ssize_t)sizeof l->session)
        ;
    name_session(l);
    l->hello.grace_ms = l->conf.grace_ms;
}

static bool is_session(const ProtobufCBinaryData *b)
{
    return b->len == LINK_SESSION_BYTES;
}

static bool same_life(const struct link *l, const Muster__Hello *peer)
{
    const ProtobufCBinaryData *b = &peer->incarnation;
    return is_session(b) ? l->peer_lives && memcmp(b->data, l->peer_life, b->len) == 0
                         : !l->peer_lives;
}

void link_resume_agree(struct link *l, const Muster__Hello *peer)
{
    if (l->redial != NULL && peer->resumes)
        l->grace_ms = l->conf.grace_ms;
    if (l->finder != NULL && is_session(&peer->session)) {
        memcpy(l->session, peer->session.data, peer->session.len);
        l->grace_ms = peer->grace_ms < GRACE_MAX_MS ? peer->grace_ms : GRACE_MAX_MS;
    }
    l->peer_lives = is_session(&peer->incarnation);
    if (l->peer_lives)
        memcpy(l->peer_life, peer->incarnation.data, peer->incarnation.len);
    for (int i = 0; i < 2 && l->grace_ms > 0; i++)
        replay_keep(l->lanes[i].queue);
}

bool link_is_session(const struct link *l, const uint8_t *session)
{
    return l->grace_ms > 0 && memcmp(l->session, session, sizeof l->session) == 0;
}

// ---- without a connection ---------------------------------------------------

// Unless both sides have said all they had to say.
static bool is_wanted(const struct link *l)
{
    return l->state == LINK_UP || l->state == LINK_BROKEN ||
           (l->state == LINK_CLOSING && !l->refusing && !l->bye_seen);
}

bool link_resume_can(const struct link *l, const struct err *why)
{
    return l->grace_ms > 0 && l->state != LINK_BROKEN && is_wanted(l) &&
           why->kind != NULL &&
           (strcmp(why->kind, "LOST") == 0 || strcmp(why->kind, "SILENT") == 0);
}

void link_resume_break(struct link *l, const struct err *why)
{
    uint64_t now = loop_now_ms();
    l->close_wanted = l->close_wanted || l->state == LINK_CLOSING;
    l->linger_by = 0;
    l->away_since = now;
    err_copy(&l->lost, why);
    link_move(l, LINK_EV_BREAK, err_text(why));
    loop_timer_disarm(l->tick);
    l->away_until = graces_link_end(now, l->heard, l->grace_ms);
    if (l->close_wanted && l->away_until > now + CLOSE_AWAY_MS)
        l->away_until = now + CLOSE_AWAY_MS;
    loop_timer_arm(l->deadline, l->away_until - now);
    if (l->redial != NULL)
        link_redial_start(l->redial);
    if (l->ops->broken != NULL)
        l->ops->broken(l->arg, &l->lost);
}

void link_resume_close(struct link *l)
{
    uint64_t until = loop_now_ms() + CLOSE_AWAY_MS;
    l->close_wanted = true;
    if (until >= l->away_until)
        return;
    l->away_until = until;
    loop_timer_arm(l->deadline, CLOSE_AWAY_MS);
}

void link_core_hung_up(struct link *l)
{
    l->hung_up = true;
}

// The peer has taken our BYE, or there is nobody to say it to.
static bool closed_meanwhile(const struct link *l, const struct err *why)
{
    return l->close_wanted && strcmp(why->kind, "REFUSED") == 0;
}

void link_resume_give_up(struct link *l, const struct err *why)
{
    const char *lost = err_text(&l->lost);
    bool ended = l->hung_up && strcmp(why->kind, "REFUSED_TCP") == 0;
    bool gone = ended || strcmp(why->kind, "REPLACED") == 0;
    const char *kind = gone ? "GONE" : l->lost.kind;
    link_core_enter(l);
    if (closed_meanwhile(l, why))
        link_end_kind(l, "CLOSED", "closed");
    else if (ended)
        link_end_kind(l, kind, "%s", lost);
    else
        link_end_kind(l, kind, "%s; %s", lost, err_text(why));
    link_core_leave(l);
}

void link_resume_time_over(struct link *l)
{
    const struct err *tried = l->redial != NULL ? link_redial_why(l->redial) : NULL;
    const char *kind = l->lost.kind, *lost = err_text(&l->lost);
    uint64_t late = loop_now_ms() - l->away_until;
    uint64_t tenths = (l->away_until - l->away_since + 50) / 100;
    double away_s = (double)tenths / 10.0;
    if (late >
        2 * (uint64_t)l->tick_ms) { // this process did not run: no fault of the peer
        uint64_t more = late < l->grace_ms ? late : l->grace_ms;
        l->away_until += late + more;
        loop_timer_arm(l->deadline, more);
    } else if (tried != NULL) {
        link_end_kind(l, kind, "%s; not back within %g s (%s)", lost, away_s,
                      err_text(tried));
    } else {
        link_end_kind(l, kind, "%s; not back within %g s", lost, away_s);
    }
}

uint64_t link_away_ms(const struct link *l)
{
    bool away = l->away_since > 0 && (l->state == LINK_BROKEN || l->state == LINK_DOWN);
    return away ? loop_now_ms() - l->away_since : 0;
}

bool link_seems_gone(const struct link *l)
{
    return l->state == LINK_BROKEN &&
           (l->hung_up || strcmp(l->lost.kind, "SILENT") == 0);
}

bool link_hung_up(const struct link *l)
{
    return l->hung_up;
}

// ---- a connection that goes on with a link ----------------------------------

void link_core_set_heir(struct link *l, struct link *heir, uint32_t round)
{
    l->heir = heir;
    memcpy(l->session, heir->session, sizeof l->session);
    l->received = (Muster__Received)MUSTER__RECEIVED__INIT;
    l->received.control = heir->lanes[0].received;
    l->received.bulk = heir->lanes[1].received;
    l->resume = (Muster__Resume)MUSTER__RESUME__INIT;
    l->resume.round = round;
    l->resume.received = &l->received;
    l->hello.resume = &l->resume;
    name_session(l);
}

static void take_theirs(struct link *l, const Muster__Received *m)
{
    l->theirs[0] = m->control;
    l->theirs[1] = m->bulk;
}

static void greet_heir(struct link *l, const Muster__Hello *peer)
{
    if (same_life(l->heir, peer))
        l->greeted = true; // and wait for RESUMED
    else
        link_end_kind(l, "REPLACED",
                      "another agent has taken its place (its pod or musterd was "
                      "started anew)");
}

// The listener's side keeps what it needs to find the link and to judge.
static void note_wish(struct link *l, const Muster__Hello *peer)
{
    if (!is_session(&peer->session) || peer->resume->received == NULL) {
        link_end_kind(l, "PROTOCOL", "a HELLO that resumes, but not what");
        return;
    }
    memcpy(l->session, peer->session.data, peer->session.len);
    l->peer_lives = is_session(&peer->incarnation);
    if (l->peer_lives)
        memcpy(l->peer_life, peer->incarnation.data, peer->incarnation.len);
    l->resume.round = peer->resume->round;
    take_theirs(l, peer->resume->received);
    l->handover = true;
}

void link_resume_hello(struct link *l, const Muster__Hello *peer)
{
    if (l->heir != NULL)
        greet_heir(l, peer);
    else
        note_wish(l, peer);
}

void link_resume_on_resumed(struct link *l, const struct frame *f)
{
    Muster__Received *m = msg_unpack(f, &muster__received__descriptor, NULL);
    if (m == NULL || !l->greeted) {
        link_end_kind(l, "PROTOCOL", "a RESUMED that makes no sense");
    } else {
        take_theirs(l, m);
        l->handover = true;
    }
    msg_free(m);
}

// ---- handing over -----------------------------------------------------------

struct replay *link_core_queue(const struct link *l, bool bulk)
{
    return l->lanes[bulk].queue;
}

bool link_core_takes(const struct link *l, bool bulk)
{
    return link_core_alive(l) && !l->handover && (!bulk || l->state > LINK_GREETING);
}

bool link_resume_ready(const struct link *l)
{
    return l->handover && link_core_alive(l) &&
           replay_unwritten(l->lanes[0].queue) == 0;
}

static bool same_peer(const struct link *heir, const struct link *l)
{
    return heir->peer_lives == l->peer_lives &&
           memcmp(heir->peer_life, l->peer_life, sizeof l->peer_life) == 0;
}

// The listener's link that a connection asks for. NULL with err: there is none.
static struct link *find_heir(struct link *l, struct err *err)
{
    struct link *heir = l->finder(l->greeter_arg, l->session);
    if (heir == NULL || heir->grace_ms == 0 || !is_wanted(heir) || heir->failing)
        err_set(err, "it has no such session (any more)");
    else if (!same_peer(heir, l))
        err_set(err, "that session is another program's");
    else if (l->resume.round <= heir->round)
        err_set(err, "that session has a newer connection");
    else
        return heir;
    return NULL;
}

// What of the link's own is on its way at the peer is lost with the connection.
static int rewind_queues(struct link *heir, struct link *l, struct err *err)
{
    BUF_AUTO body = BUF_INIT;
    struct frame f = {.kind = FRAME_RESUMED, .ack = heir->lanes[0].received};
    Muster__Received m = MUSTER__RECEIVED__INIT;
    m.control = heir->lanes[0].received;
    m.bulk = heir->lanes[1].received;
    msg_pack(&f, &body, &m.base);
    for (int i = 0; i < 2; i++) {
        struct lane *lane = &heir->lanes[i];
        bool answer = i == 0 && heir->redial == NULL;
        if (replay_rewind(lane->queue, l->theirs[i], answer ? &f : NULL, err) < 0)
            return -1;
        lane->told = lane->received;
        lane->untold = 0;
    }
    return 0;
}

static void take_transport(struct link *heir, struct link *l)
{
    if (heir->transport != NULL)
        heir->t->destroy(heir->transport);
    heir->t = l->t;
    heir->transport = STEAL(l->transport);
    heir->t->rebind(heir->transport, heir);
    if (heir->t->tune != NULL)
        heir->t->tune(heir->transport, heir->conf.dead_ms);
    heir->round = l->resume.round;
    heir->hung_up = false;
}

static void come_up(struct link *heir)
{
    loop_timer_disarm(heir->deadline);
    heir->away_since = 0;
    link_move(heir, LINK_EV_RESUME, NULL);
    link_start_ticking(heir);
    if (heir->ops->resumed != NULL)
        heir->ops->resumed(heir->arg);
    if (heir->close_wanted && !heir->doomed) {
        heir->close_wanted = false;
        link_close(heir);
    }
}

// Of a link whose loss only the other end has seen.
static void break_old(struct link *heir)
{
    ERR_AUTO why = ERR_INIT;
    err_set_kind(&why, "LOST", 0, "the peer has lost the connection");
    if (heir->state != LINK_BROKEN)
        link_resume_break(heir, &why);
}

static void inherit(struct link *heir, struct link *l)
{
    ERR_AUTO err = ERR_INIT;
    link_core_enter(heir);
    if (heir->redial != NULL)
        link_redial_done(heir->redial);
    break_old(heir);
    if (!link_ended(heir)) {
        take_transport(heir, l);
        if (rewind_queues(heir, l, &err) == 0)
            come_up(heir);
        else
            link_end_kind(heir, "PROTOCOL", "%s", err_text(&err));
    }
    link_free(l);
    link_core_leave(heir);
}

void link_resume_hand_over(struct link *l)
{
    ERR_AUTO err = ERR_INIT;
    struct link *heir = l->heir != NULL ? l->heir : find_heir(l, &err);
    l->handover = false;
    if (heir != NULL) {
        inherit(heir, l);
        return;
    }
    link_core_enter(l);
    link_refuse(l, "REFUSED", err_text(&err));
    link_core_leave(l);
}

// ---- acknowledgements -------------------------------------------------------

static void take_ack(struct link *l, int lane, uint64_t seq)
{
    ERR_AUTO err = ERR_INIT;
    if (replay_ack(l->lanes[lane].queue, seq, &err) < 0)
        link_end_kind(l, "PROTOCOL", "%s", err_text(&err));
}

void link_resume_take_ack(struct link *l, const struct frame *f)
{
    if (l->grace_ms > 0)
        take_ack(l, frame_is_bulk(f->kind), f->ack);
}

void link_resume_on_ack(struct link *l, const struct frame *f)
{
    Muster__Received *m = msg_unpack(f, &muster__received__descriptor, NULL);
    if (m == NULL)
        link_end_kind(l, "PROTOCOL", "an ACK that makes no sense");
    else if (l->grace_ms > 0)
        take_ack(l, 1, m->bulk); // the header has the other
    msg_free(m);
}

void link_resume_tell(struct link *l)
{
    Muster__Received m = MUSTER__RECEIVED__INIT;
    bool news = false;
    for (int i = 0; i < 2; i++)
        news = news || l->lanes[i].told < l->lanes[i].received;
    if (l->grace_ms == 0 || !news)
        return;
    m.control = l->lanes[0].received;
    m.bulk = l->lanes[1].received;
    link_send_own(l, FRAME_ACK, &m.base);
    l->lanes[1].told = l->lanes[1].received;
    l->lanes[1].untold = 0;
}

void link_resume_count(struct link *l, const struct frame *f)
{
    struct lane *lane = &l->lanes[frame_is_bulk(f->kind)];
    lane->untold += FRAME_HEADER + f->len;
    if (lane->untold >= ACK_BYTES)
        link_resume_tell(l);
}
