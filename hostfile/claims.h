// Members and the addresses that they claim: each address is one member's, and all are of
// one family. Pure.
#ifndef MUSTER_HOSTFILE_CLAIMS_H
#define MUSTER_HOSTFILE_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "common/err.h"

struct claim {
    const char *name;
    unsigned line;                       // in the hostfile, 0: none
    const struct sockaddr_storage *addr; // NULL: none
    int port;
    bool stands; // it was this member's before: others have to prove that it moved
    bool fixed;  // a literal: asking again gives nothing else
    long twin;   // out: whose it is already, -1: nobody else's
};

// Sets the twins. Returns the first that has one, -1: none has.
long claims_find_twins(struct claim *c, size_t n);
// HF_DUP_ADDRESS for the claim and its twin.
void claims_twin_error(const struct claim *c, long who, const char *source,
                       struct err *err);

struct claims_families {
    size_t n4, n6;       // members with an IPv4 (an IPv6) address
    bool fixed4, fixed6; // a literal is among them
};

// AF_INET, AF_INET6; an IPv4-mapped address is IPv4. 0: no address.
int claims_family(const struct sockaddr_storage *addr);
void claims_count(const struct claim *c, size_t n, struct claims_families *out);
// FAMILY_MISMATCH with both groups of members.
void claims_family_error(const struct claim *c, size_t n, const char *source,
                         struct err *err);

#endif
