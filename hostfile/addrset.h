// A set of addresses, to find members that share one.
#ifndef MUSTER_HOSTFILE_ADDRSET_H
#define MUSTER_HOSTFILE_ADDRSET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct addrset;

struct addrset *addrset_create(void);
void addrset_destroy(struct addrset *s); // NULL-safe
// Adds the pair (address, port) for `who`. Returns who has it: `who`, or an earlier
// one. An IPv4-mapped IPv6 address is its IPv4 address. Constant time.
size_t addrset_add(struct addrset *s, const struct sockaddr_storage *addr, int port,
                   size_t who);
// Who has the pair; SIZE_MAX: nobody.
size_t addrset_find(const struct addrset *s, const struct sockaddr_storage *addr,
                    int port);
// Order of two addresses without ports; 0: the same host.
int addrset_compare(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

#endif
