// Looking names up in the text of /etc/hosts.
#ifndef MUSTER_HOSTFILE_ETCHOSTS_H
#define MUSTER_HOSTFILE_ETCHOSTS_H

#include <stddef.h>
#include <sys/socket.h>

struct etchosts;

// Lines that mean nothing are skipped, as the C library does, and so is the block that
// muster-sidecar keeps: what it wrote is no source of what it writes.
struct etchosts *etchosts_parse(const char *text, size_t len);
// The file; one that cannot be read counts as empty.
struct etchosts *etchosts_load(const char *path);
void etchosts_destroy(struct etchosts *h); // NULL-safe

// The address of a name (without case), NULL when it is not there. Of several the best:
// not loopback before loopback, then IPv4 before IPv6, then the first. Constant time.
const struct sockaddr_storage *etchosts_find(const struct etchosts *h,
                                             const char *name);

#endif
