// Inside of links over SSH: one libssh session with a control and a bulk channel (or one
// for both, to a stock sshd), stepped from the event loop. What the two ends have in
// common; each end is a role (link_ssh_client.c, link_ssh_exec.c, link_ssh_server.c) that
// brings the session to open channels.
//
// libssh calls back from inside its own functions, also from writing and flushing. So
// its callbacks only append to buffers and note failures here; everything that reaches
// a user of links happens in link_ssh_step, with no libssh function on the stack.
#ifndef MUSTER_WIRE_LINK_SSH_H
#define MUSTER_WIRE_LINK_SSH_H

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <stdbool.h>

#include "common/buf.h"
#include "wire/link_core.h"

#define LINK_SSH_USER "muster"

struct link_ssh;

enum link_ssh_use { LINK_SSH_CONTROL, LINK_SSH_BULK, LINK_SSH_USES };

// The subsystem that the dialler asks for on each channel.
extern const char *const link_ssh_subsystems[LINK_SSH_USES];

struct link_ssh_role {
    // One step towards open channels: 1 go on, 0 wait for the socket, -1 with err.
    int (*step)(void *state, struct err *err);
    const char *(*stage)(const void *state);
    // Is this channel the role's own? Its data is left to it. May be NULL.
    bool (*owns)(const void *state, ssh_channel channel);
    // The session carries another link from now on. May be NULL.
    void (*rebind)(void *state, struct link *l);
    void (*destroy)(void *state); // after the session is gone; NULL-safe
};

struct link_ssh_channel {
    ssh_channel channel; // NULL: not there yet; the session's
    struct buf in;       // what goes out is in the link's queues
};

struct link_ssh {
    struct link *link;
    struct event_base *base;
    const struct link_ssh_role *role;
    void *state;
    ssh_session session; // NULL until link_ssh_set_session
    ssh_event poll;      // holds the session once its key exchange is over
    int fd; // the session's once there is one; -1: none, or closed by libssh
    struct event *io, *kick;
    short armed;       // what io waits for
    bool hold_reading; // a stranger that does not read is not read either
    bool handed_over;  // libssh has the fd, and closes it
    bool open;         // its channels carry frames
    bool single;       // all frames go through the control channel
    struct link_ssh_channel channels[LINK_SSH_USES];
    struct buf last;   // goes to the control channel when all queues are empty
    uint64_t received; // bytes of frames
    struct err broken; // noted by callbacks: the session is of no more use
    struct ssh_channel_callbacks_struct callbacks; // of all channels
};

// A transport for l on the fd, which it takes over, and which is waited for to become
// writable first. It is attached to the link.
struct link_ssh *link_ssh_create(struct link *l, struct event_base *base, int fd,
                                 const struct link_ssh_role *role, void *state);
// A session that has got (or will get) the fd; it is the transport's from now on.
void link_ssh_set_session(struct link_ssh *s, ssh_session session);
// The key exchange is over: from now on dopoll steps the session.
void link_ssh_start_polling(struct link_ssh *s);
// A new channel of the session: its data is taken from now on.
void link_ssh_adopt(struct link_ssh *s, ssh_channel channel);

// Let the loop call the role soon.
void link_ssh_wake(struct link_ssh *s);
// Note, in a callback, that the session is of no more use. The first note counts.
void link_ssh_break(struct link_ssh *s, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// -1 with err when something was noted or the connection is gone, else 0.
int link_ssh_check(struct link_ssh *s, struct err *err);

#endif
