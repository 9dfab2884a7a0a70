// Reads and writes of a whole piece on a non-blocking socket, with an end in time.
//
// err->code says whose word it is: 1 (fail) where the network did not do what it should.
#ifndef MUSTER_KERNELS_CHECK_NET_IO_H
#define MUSTER_KERNELS_CHECK_NET_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/err.h"

int net_read(int fd, void *p, size_t n, uint64_t until_ms, struct err *err);
int net_write(int fd, const void *p, size_t n, uint64_t until_ms, struct err *err);

// Numbers, at most NET_WORDS_MAX at once.
enum { NET_WORDS_MAX = 16 };
int net_get_words(int fd, uint64_t *words, size_t n, uint64_t until_ms,
                  struct err *err);
int net_put_words(int fd, const uint64_t *words, size_t n, uint64_t until_ms,
                  struct err *err);

struct net_address {
    struct sockaddr_storage addr;
    socklen_t len;
};

enum { NET_ADDRESS_TEXT = 80 };

// "10.0.0.1:7900" or "[fd00::1]:7900"; addresses only, never names.
int net_parse(const char *text, struct net_address *address, struct err *err);
void net_text(const struct net_address *address, char text[static NET_ADDRESS_TEXT]);

#endif
