// A link's inside, shared by link.c, link_resume.c and link_redial.c and by nobody else.
#ifndef MUSTER_WIRE_LINK_INTERNAL_H
#define MUSTER_WIRE_LINK_INTERNAL_H

#include "wire/link_core.h"
#include "wire/replay.h"

struct event;
struct link_redial;

// The frames of one sort, control or bulk.
struct lane {
    uint64_t sent, received;
    uint64_t told;        // of `received`, to the peer
    size_t untold;        // bytes of the frames between
    struct replay *queue; // what goes out (a stream has queues of its own)
};

struct link {
    struct link_conf conf;
    Muster__Hello hello; // shallow, with the version and `session` filled in
    char *peer, *local;
    enum link_state state;
    const struct link_ops *ops;
    void *arg;
    link_greeter_fn greeter; // NULL: the owner is known
    link_finder_fn finder;   // NULL: nothing is resumed
    void *greeter_arg;       // of both
    const struct link_transport_ops *t;
    void *transport;      // NULL: none yet, or BROKEN
    struct lane lanes[2]; // [frame_is_bulk()]

    struct event *deadline; // until UP, and while BROKEN
    struct event *tick;     // from GREETING on, but while BROKEN
    struct event *kick;     // a failure that waits for the loop
    uint32_t tick_ms;
    uint64_t ticked;        // loop_now_ms() of the last tick
    uint64_t heard, spoken; // when the last byte came, when the last frame was queued
    uint64_t heard_bytes;

    struct err reason; // what down() gets when CLOSING is over, or when the kick comes
    uint64_t close_by, linger_by;

    // For coming back; see link_resume.c.
    uint8_t session[LINK_SESSION_BYTES];   // names the link
    uint8_t peer_life[LINK_SESSION_BYTES]; // the peer's incarnation
    uint32_t grace_ms;                     // 0: the link ends with its connection
    uint32_t round;                        // of the last connection
    struct err lost;                       // why there is none
    uint64_t away_since, away_until; // loop_now_ms() of the loss; of the grace's end
    struct link_redial *redial;      // of the dialling end

    // A connection that is to become another link's.
    struct link *heir;         // of the dialling end: which one
    Muster__Resume resume;     // of its HELLO
    Muster__Received received; // the same
    uint64_t theirs[2];        // what the peer has received

    bool obeys;        // nobody told it a heartbeat: the peer's is its own
    bool peer_lives;   // it has told its incarnation
    bool hung_up;      // its end was closed, not cut off
    bool close_wanted; // once there is a connection again
    bool greeted;      // the dialling end of a connection has the peer's HELLO
    bool handover;     // at the next chance
    bool failing;      // the kick is on its way
    bool refusing;     // CLOSING after our REFUSE
    bool bye_seen;     // the peer sends nothing more
    bool spoke;        // since the last tick
    bool doomed;       // destroyed: freed when depth is 0
    int depth;         // calls of the transport on the stack
};

// Down or destroyed.
static inline bool link_ended(const struct link *l)
{
    return l->state == LINK_DOWN || l->doomed;
}

// link.c
bool link_move(struct link *l, enum link_event ev, const char *why);
// The last thing that a link does: down(). Between enter and leave.
void link_end(struct link *l, const struct err *why);
void link_end_kind(struct link *l, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// A frame of the link's own: not numbered.
void link_send_own(struct link *l, enum frame_kind kind, const ProtobufCMessage *msg);
// Ends the link with `kind` and `text` on this side; the peer gets the text too.
void link_refuse(struct link *l, const char *kind, const char *text);
void link_start_ticking(struct link *l);
void link_free(struct link *l);

#endif
