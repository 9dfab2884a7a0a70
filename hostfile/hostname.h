// What may name a host: address literals and DNS names, told apart strictly.
#ifndef MUSTER_HOSTFILE_HOSTNAME_H
#define MUSTER_HOSTFILE_HOSTNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "hostfile/place.h"

// A strict dotted quad or an IPv6 address (without brackets or zone) into *out (port
// 0). False for anything else: "010.1.2.3", "10.1.2" and "20260" are no addresses.
bool hostname_literal(const char *s, size_t len, struct sockaddr_storage *out);
// Refuses what is neither an address of one host nor a DNS name (HF_BAD_NAME; quotes:
// HF_SYNTAX; "+n0": HF_RELATIVE_IN_ALLOC). A final dot is allowed.
int hostname_check(const char *s, size_t len, const struct place *at, struct err *err);
// Refuses what is no name of a user (HF_BAD_NAME): letters, digits, '.', '_', '-', '+'; it
// does not begin with '-', which ssh would take for an option.
int hostname_check_user(const char *s, size_t len, const struct place *at,
                        size_t offset, struct err *err);
// True for 127.0.0.0/8 and ::1, and for the former as IPv6 (::ffff:127.0.0.1).
bool hostname_is_loopback(const struct sockaddr_storage *addr);
// Can other machines reach one host there? Not: loopback, link-local, multicast, "any".
bool hostname_is_peer(const struct sockaddr_storage *addr);
// "localhost", "localhost.", "localhost.localdomain", without case.
bool hostname_is_localhost(const char *s);
// Does the DNS name begin with this host name, as a pod's does? Not where it is an address.
bool hostname_heads(const char *host, const char *name);
// Is it an address, not a name?
bool hostname_is_literal(const char *name);
// Is it an address, or a name that is made of one, as Kubernetes gives it to pods without a name of
// their own ("10-244-1-5.train")? Another pod has another one.
bool hostname_is_of_address(const char *name);
// This machine's name (uname); never empty. Caller frees.
char *hostname_own(void);

#endif
