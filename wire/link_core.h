// Inside of links: what the common part (link.c: handshake, numbers, heartbeats,
// closing) and a transport (link_ssh.c, link_stream.c) say to each other.
//
// A transport moves frames. Whatever it does from an event of its own stands between
// link_core_enter and link_core_leave, and after the latter it touches neither the link
// nor itself: destruction that was asked for in between happens there.
#ifndef MUSTER_WIRE_LINK_CORE_H
#define MUSTER_WIRE_LINK_CORE_H

#include <stdbool.h>

#include "wire/link.h"
#include "wire/link_state.h"

struct link_transport_ops {
    // Copy the frame into the control or bulk queue; it goes out from the loop.
    void (*send)(void *t, const struct frame *f);
    // Behind all that is queued, bulk too.
    void (*send_last)(void *t, const struct frame *f);
    // Bytes that the kernel has not taken yet.
    size_t (*pending)(const void *t);
    // Bytes received so far.
    uint64_t (*received)(const void *t);
    // What is waited for before the transport is open ("TCP connect"), for texts.
    const char *(*stage)(const void *t);
    // What is sent has to be acknowledged within about so long. NULL: by nobody.
    void (*tune)(void *t, uint32_t dead_ms);
    // It carries another link from now on. NULL: it cannot.
    void (*rebind)(void *t, struct link *l);
    void (*destroy)(void *t);
};

// Asked once a peer has greeted, before its HELLO is judged: puts the owner's ops and
// arg. -1: nobody wants this link.
typedef int (*link_greeter_fn)(void *greeter_arg, struct link *l,
                               const struct link_ops **ops, void **arg);
// Asked when a connection wants to go on with a link: which one is it? NULL: none here.
typedef struct link *(*link_finder_fn)(void *greeter_arg, const uint8_t *session);

// A link in `state` (DIALING or OPENING) whose deadline runs. peer: for texts.
struct link *link_core_create(const struct link_conf *conf, const char *peer,
                              enum link_state state, const struct link_ops *ops,
                              void *arg);
void link_core_attach(struct link *l, const struct link_transport_ops *ops, void *t);
uint32_t link_core_dead_ms(const struct link *l); // with the default filled in
void link_core_set_local(struct link *l, const char *address);
void link_core_set_greeter(struct link *l, link_greeter_fn greeter, void *greeter_arg);
// With the greeter's arg: connections that go on with other links are let in.
void link_core_set_finder(struct link *l, link_finder_fn finder);
// Of the dialling end: the link may outlive its connection. Takes over the redial.
struct link_redial;
void link_core_set_redial(struct link *l, struct link_redial *redial);
// Of the dialling end: l is only a connection for `heir`, which lost its own.
void link_core_set_heir(struct link *l, struct link *heir, uint32_t round);

// The encoded frames that go out, control or bulk.
struct replay *link_core_queue(const struct link *l, bool bulk);
// False: frames of this sort stay with the transport for now.
bool link_core_takes(const struct link *l, bool bulk);
// The peer's end was closed, as the kernel does for a program that ends.
void link_core_hung_up(struct link *l);

// The peer is no link's: the deadline is off, and the transport ends it.
void link_core_no_deadline(struct link *l);

void link_core_enter(struct link *l);
void link_core_leave(struct link *l);
// False once the link is down or destroyed: the transport does no more for it.
bool link_core_alive(const struct link *l);

// Only between enter and leave:
void link_core_connected(struct link *l);
void link_core_opened(struct link *l);
void link_core_frame(struct link *l, const struct frame *f);
// The transport is of no more use; why->kind is one of down()'s.
void link_core_fail(struct link *l, const struct err *why);
// Anywhere: the same, from the loop.
void link_core_fail_later(struct link *l, const struct err *why);

#endif
