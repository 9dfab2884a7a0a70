// TCP that never waits: what can be done now is done.
#ifndef MUSTER_KERNELS_INFER_TCP_H
#define MUSTER_KERNELS_INFER_TCP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/err.h"

// An address, never a name, and a port from 1 on as a socket's address. 0, or -1: they are none.
int tcp_address(const char *address, uint32_t port, struct sockaddr_storage *to,
                socklen_t *len);

// Begins to connect; the fd, the caller's, can be written when that has an outcome. -1 with err.
int tcp_connect(const char *address, uint32_t port, struct err *err);
int tcp_connected(int fd, struct err *err); // the outcome
// On from *at of n bytes, for at most `most` of them, as far as it goes. The peer's end before
// byte n is an error.
int tcp_write(int fd, const void *p, size_t n, size_t *at, size_t most,
              struct err *err);
int tcp_read(int fd, void *p, size_t n, size_t *at, size_t most, struct err *err);

// This machine's address towards another one, as text of KVWIRE_ADDRESS bytes; nothing is sent.
int tcp_own_address(const char *towards, char *out, struct err *err);

#endif
