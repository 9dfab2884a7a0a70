// This machine's own address, as its peers can use it.
#ifndef MUSTER_HOSTFILE_OWNADDR_H
#define MUSTER_HOSTFILE_OWNADDR_H

#include <stdbool.h>
#include <sys/socket.h>

// The first address of an interface that is up: neither loopback nor link-local, IPv4
// before IPv6. False when there is none.
bool ownaddr_get(struct sockaddr_storage *out);
// Is it the address of one of this machine's interfaces? The port does not count.
bool ownaddr_is_own(const struct sockaddr_storage *addr);

#endif
