// This machine's own address, as its peers can use it.
#ifndef MUSTER_HOSTFILE_OWNADDR_H
#define MUSTER_HOSTFILE_OWNADDR_H

#include <stdbool.h>
#include <sys/socket.h>

// The address that this machine uses towards `peer` (its port does not count; NULL: none is
// known), else towards its default route: bridges and other interfaces that lead nowhere
// are never in the way. Without any route the first address of an interface that is up,
// IPv4 before IPv6. Never loopback or link-local. False when there is none. Nothing is sent.
bool ownaddr_get(const struct sockaddr_storage *peer, struct sockaddr_storage *out);
// Is it the address of one of this machine's interfaces? The port does not count.
bool ownaddr_is_own(const struct sockaddr_storage *addr);

#endif
