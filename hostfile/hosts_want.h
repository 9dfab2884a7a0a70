// What the managed block of /etc/hosts is to hold: lines of an address and its names. Pure.
#ifndef MUSTER_HOSTFILE_HOSTS_WANT_H
#define MUSTER_HOSTFILE_HOSTS_WANT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "common/err.h"

struct hosts_pair {
    char address[INET6_ADDRSTRLEN];
    bool v6;
    char *names; // separated by single blanks, at most HOSTS_NAMES_MAX bytes; owned
};

struct hosts_want {
    struct hosts_pair *v;
    size_t n, cap;
};

#define HOSTS_WANT_INIT                                                                \
    {                                                                                  \
        0                                                                              \
    }
#define HOSTS_WANT_AUTO __attribute__((cleanup(hosts_want_free))) struct hosts_want

// Adds one host: as many lines as its names need (each name once, the canonical one
// first). Refuses with HOSTS_BAD_ADDRESS what nobody else could use (loopback, the
// unspecified address), with HOSTS_BAD_NAME what is no DNS name (literals, localhost);
// nothing is added then. A host without names adds nothing.
int hosts_want_add(struct hosts_want *w, const struct sockaddr_storage *addr,
                   const char *const *names, size_t n, struct err *err);
void hosts_want_move(struct hosts_want *to, struct hosts_want *from);
void hosts_want_free(struct hosts_want *w);

#endif
