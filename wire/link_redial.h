// The dialling end of a link that lost its connection: tries until one is there.
//
// WAITING (back-off with jitter) -> TRYING (a connection of its own that shakes hands) -> done, or
// -> WAITING. A try whose TCP connect is not answered soon is given up for a fresh one: the
// kernel's own repetitions grow rarer. Trying again cannot help when the peer refuses, has
// another key or another incarnation, or when its end was closed and nobody listens any
// more: its process has ended. The grace itself is the link's to watch.
#ifndef MUSTER_WIRE_LINK_REDIAL_H
#define MUSTER_WIRE_LINK_REDIAL_H

#include "wire/link.h"

struct link_redial;

// For the link `heir`, which owns it.
struct link_redial *link_redial_create(struct link *heir, const struct link_conf *conf,
                                       const struct sockaddr *addr, socklen_t len);
void link_redial_start(struct link_redial *r);
// Not any more; the current try goes too.
void link_redial_stop(struct link_redial *r);
// The current try is the heir's and is handed over.
void link_redial_done(struct link_redial *r);
// Why the last try failed; NULL when none did.
const struct err *link_redial_why(const struct link_redial *r);
void link_redial_destroy(struct link_redial *r); // NULL-safe

#endif
