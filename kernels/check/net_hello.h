// The first line of a pair's connection: who dials says the token that both ends know. Pure.
#ifndef MUSTER_KERNELS_CHECK_NET_HELLO_H
#define MUSTER_KERNELS_CHECK_NET_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

enum { NET_TOKEN_MIN = 8, NET_TOKEN_MAX = 128, NET_HELLO_MAX = NET_TOKEN_MAX + 64 };

// Letters, digits, '-', '_' and '.': NET_TOKEN_MIN to NET_TOKEN_MAX of them.
int net_token_check(const char *token, struct err *err);
// "muster-netcheck 2 TOKEN SEED\n", of less than NET_HELLO_MAX bytes. Caller frees.
char *net_hello(const char *token, uint64_t seed);
// Is it this line, with this token? `line` has n bytes and a NUL behind them. It takes as long for a
// wrong token as for the right one of the same length.
bool net_hello_read(const char *line, size_t n, const char *token, uint64_t *seed);

#endif
