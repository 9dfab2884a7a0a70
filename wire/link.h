// A link: frames between two programs of the group, with a handshake, heartbeats and a
// named end.
//
// Transport is an SSH session with the group's key, both ends pinned (link_dial,
// link_server), with one channel for control and one for bulk; or stdin and stdout of a
// `musterd --stdio` that a stock sshd starts (link_dial_exec); or a local byte stream
// (link_over_fds) to such a one.
//
// States: DIALING (TCP) -> OPENING (SSH, channels) -> GREETING (HELLO sent, waiting for
// the peer's) -> UP -> CLOSING (BYE sent) -> DOWN; from any of them -> DOWN on failure.
// One deadline bounds everything before UP.
//
// Coming back: a dialled link with grace_ms, whose listener agrees, outlives its connection.
// UP or CLOSING -> BROKEN when the connection is lost or silent; the dialling end dials
// again, and in the grace the link is UP (and closes, if that was wanted) on the new
// connection with every frame once and in order. BROKEN -> DOWN when the grace is over, or
// when it is sure that the peer is gone. Owners need not care: they send as before.
// (link_resume.h has the exchange.)
//
// Numbered frames carry seq from 1 up without
// gaps (control and bulk apart); a gap or a repeat ends the link. Heartbeats: a PING
// (it carries ack) when nothing was sent for the interval; no byte for `dead_ms` ends
// the link. Time in which this process itself did not run (stopped, starved) does not
// count.
//
// Callbacks come from the event loop only, never from inside a call of this module;
// every call of this module is allowed in them.
#ifndef MUSTER_WIRE_LINK_H
#define MUSTER_WIRE_LINK_H

#include <stdbool.h>
#include <sys/socket.h>

#include "common/err.h"
#include "wire/frame.h"
#include "wire/muster.pb-c.h"

struct agent_files;
struct event_base;
struct keyring;
struct link;
struct link_hostkeys;
struct link_server;
struct log;

enum link_state {
    LINK_DIALING,
    LINK_OPENING,
    LINK_GREETING,
    LINK_UP,
    LINK_BROKEN,
    LINK_CLOSING,
    LINK_DOWN,
};
const char *link_state_name(enum link_state s);

struct link_ops {
    // The handshake is over; *peer is valid during the call. Return -1 with err to
    // refuse: the text goes to the peer and the link goes down, with err's kind if it has one.
    int (*up)(void *arg, const Muster__Hello *peer, struct err *err);
    // A frame above the link's own; body valid during the call. Also while the link
    // closes from this side: the peer's last words come until down().
    void (*frame)(void *arg, const struct frame *f);
    // Once: refused, timed out, lost, or closed in order (why->kind is "CLOSED"). Other
    // kinds: "REFUSED_TCP" (nobody listens), "UNREACHABLE", "TIMEOUT", "KEY" (wrong key
    // on either side), "VERSION", "REFUSED" (the peer said why), "SILENT" (no
    // heartbeat), "LOST" (closed without BYE, reset), "GONE" (the
    // same, and the peer's program has surely ended), "OVERFLOW" (the peer does not
    // read), "PROTOCOL", "REMOTE_EXEC_NOT_FOUND" (sshd's host has no musterd),
    // "REMOTE_EXEC" (it does not start there, or could not be brought). The text is meant
    // for the user. The owner still has to destroy the link.
    void (*down)(void *arg, const struct err *why);
    // Both may be NULL: the connection is lost, and the link waits for another one; it is
    // there.
    void (*broken)(void *arg, const struct err *why);
    void (*resumed)(void *arg);
};

enum {
    LINK_HEARTBEAT_MS = 1000,
    LINK_DEAD_BEATS = 3, // so many that do not come are a loss
    LINK_HEARTBEAT_MIN_MS = 100,
    LINK_HEARTBEAT_MAX_MS = 60000,
};

struct link_conf {
    struct event_base *base;
    const struct keyring *keys; // borrowed; NULL only for link_over_fds
    const Muster__Hello *hello; // what this end says; borrowed, outlives all links;
                                // major 0: WIRE_MAJOR and WIRE_MINOR are filled in
    struct log *log;            // may be NULL
    uint32_t open_ms;           // deadline until UP; 0: 10,000
    uint32_t heartbeat_ms;      // 0: the peer's, else LINK_HEARTBEAT_MS
    uint32_t dead_ms;           // 0: LINK_DEAD_BEATS heartbeats
    size_t queue_max; // bytes unsent or not acknowledged that end the link; 0: 512 MiB
    uint32_t
        grace_ms; // link_dial: how long the link outlives its connection (graces.h);
                  // 0: not
};

// Connect to `addr`. Never fails at once: failures come through down(). The ops and arg
// must outlive the link. *conf is copied.
struct link *link_dial(const struct link_conf *conf, const struct sockaddr *addr,
                       socklen_t len, const struct link_ops *ops, void *arg);

// How a member without a listening agent is reached: its sshd starts one.
struct link_via {
    const char *name;                     // of the member: known_hosts, texts
    const char *user;                     // to log in as
    const char *const *agents;            // paths, or names to search in PATH there
    size_t nagents;                       // tried in turn
    const struct agent_files *files;      // brought along, then the only agent; or NULL
    const struct link_hostkeys *hostkeys; // NULL: only the keys of the group's ring
};
// As link_dial, to a stock sshd. What the far side's shell prints before the agent's first
// word is skipped, bounded. *via must outlive the link. conf->open_ms 0: 10 s, with files
// two minutes.
struct link *link_dial_exec(const struct link_conf *conf, const struct link_via *via,
                            const struct sockaddr *addr, socklen_t len,
                            const struct link_ops *ops, void *arg);
// A link over a byte stream that is already trusted; takes over the fds (in == out: one
// socket). The program ignores SIGPIPE.
struct link *link_over_fds(const struct link_conf *conf, int in, int out,
                           const struct link_ops *ops, void *arg);

// Listen on addr. For each peer that has shown the group's key and greeted, `accept`
// gives the ops and arg for the new link, then up() or (other version) down() is
// called; the link is the caller's to destroy from then on. Returning NULL refuses it.
// Unauthenticated peers are bounded in time, memory and number (64, more are closed at
// once). Error kind: "LISTEN".
typedef const struct link_ops *(*link_accept_fn)(void *server_arg, struct link *link,
                                                 void **link_arg);
struct link_server *link_listen(const struct link_conf *conf,
                                const struct sockaddr *addr, socklen_t len,
                                link_accept_fn accept, void *server_arg,
                                struct err *err);
// Let dialled links come back: `find` (with server_arg) names the link of which
// link_is_session(link, session) holds, or NULL. Without it they end with their
// connection.
typedef struct link *(*link_find_fn)(void *server_arg, const uint8_t *session);
void link_server_let_resume(struct link_server *s, link_find_fn find);
// The bound address (for port 0).
void link_server_address(const struct link_server *s, struct sockaddr_storage *addr);
// Links that were accepted stay, those that still shake hands go. NULL-safe.
void link_server_destroy(struct link_server *s);

enum link_state link_get_state(const struct link *l);
// "10.1.2.3:7822", "[fd00::5]:7822" or "stdio"; lives as long as the link.
const char *link_peer_text(const struct link *l);
// Local address of the connection as a literal without port ("" for stdio).
const char *link_local_address(const struct link *l);

// How long it has been BROKEN, or was when it went DOWN from there; else 0.
uint64_t link_away_ms(const struct link *l);
// BROKEN since the peer's end was closed (its program ended, as a rule), or fell silent; not
// reset by somebody in between?
bool link_seems_gone(const struct link *l);
// BROKEN, or DOWN from there, since the peer's end was closed (its program ended, as a rule)?
bool link_hung_up(const struct link *l);
// For how long no byte has come, as far as heartbeats tell it (not finer than a tick of them);
// 0: it never was UP.
uint64_t link_silent_ms(const struct link *l);
// Is this the name of the link? Random, and told to nobody but the two ends.
enum { LINK_SESSION_BYTES = 16 };
bool link_is_session(const struct link *l, const uint8_t *session);

// Queue a frame (copied). seq and ack are set here. Dropped when the link is neither UP nor
// BROKEN.
// Bulk frames (frame_is_bulk) have a queue of their own, which control frames overtake.
void link_send(struct link *l, const struct frame *f);
// As link_send, with a packed message as the body.
void link_send_msg(struct link *l, const struct frame *f, const ProtobufCMessage *msg);
// Send what is queued, then BYE; down() comes with "CLOSED" after the peer's BYE_ACK,
// or a second after all was written, at the latest after open_ms. Before UP: down()
// comes soon.
void link_close(struct link *l);
// At once and without a callback; allowed inside callbacks. NULL-safe.
void link_destroy(struct link *l);

#endif
