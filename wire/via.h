// The ways to members whose sshd starts the agent: what an Attach says of it, made ready
// for the links of one vertex.
#ifndef MUSTER_WIRE_VIA_H
#define MUSTER_WIRE_VIA_H

#include "common/err.h"
#include "wire/link.h"

struct via;

// Of *m (borrowed, outlives it). own_musterd: the program that is brought along when the
// message asks for it. Errors are about its known_hosts lines and own_musterd.
struct via *via_create(const Muster__Via *m, const char *own_musterd, struct err *err);
void via_destroy(struct via *v); // NULL-safe
// How to reach one member; what it points to is the via's and the member's.
struct link_via via_of_member(const struct via *v, const Muster__Member *member);

#endif
