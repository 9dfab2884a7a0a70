// TCP sockets below links: options, addresses as text, and errors as words for users.
#ifndef MUSTER_WIRE_LINK_SOCK_H
#define MUSTER_WIRE_LINK_SOCK_H

#include <stdint.h>
#include <sys/socket.h>

#include "common/err.h"

enum { LINK_SOCK_TEXT = 128 };

// "10.1.2.3:7822", "[fd00::5]:7822"; an IPv4-mapped address as IPv4.
void link_sock_text(const struct sockaddr *addr, socklen_t len, char *out);
// The fd's own address as a literal without port; "" when it has none.
void link_sock_local(int fd, char *out);

// Small frames at once, and a dead peer noticed by the kernel too, also while data is
// on its way: no later than some seconds after dead_ms.
void link_sock_tune(int fd, uint32_t dead_ms);

// A non-blocking connect that has begun, or -1 with err as of link_sock_refused.
int link_sock_connect(const struct sockaddr *addr, socklen_t len, const char *peer,
                      struct err *err);
// A non-blocking listener; err has kind "LISTEN".
int link_sock_listen(const struct sockaddr *addr, socklen_t len, struct err *err);

// What an errno of connect(2) means for the user, with the kind that down() gets.
void link_sock_refused(struct err *err, int errnum, const char *peer);

#endif
