// How the two ends of a pair find each other: one listens, one dials, both know a token.
//
// The dialler's first line is net_hello.h's; the listener answers "+".
// Whoever says anything else, or nothing, is let go and counted, and keeps nobody waiting.
#ifndef MUSTER_KERNELS_CHECK_NET_MEET_H
#define MUSTER_KERNELS_CHECK_NET_MEET_H

#include <stdint.h>

#include "common/err.h"
#include "kernels/check/net_io.h"

struct net_meeting {
    int fd;        // connected, non-blocking
    uint64_t seed; // of the patterns, the same at both ends
    struct net_address peer;
    unsigned strangers; // who came, too
};

// A listening socket; err->kind "TAKEN": its port is in use. Port 0: any. *address becomes what
// it listens on.
int net_listen(struct net_address *address, struct err *err);
// Until the one with the token comes. err->code 2: nobody did.
int net_accept(int listener, const char *token, uint64_t until_ms,
               struct net_meeting *m, struct err *err);
// Until somebody listens there; err->code 2: it refuses to the end, 1: it does not answer.
int net_dial(const struct net_address *address, const char *token, uint64_t seed,
             uint64_t until_ms, struct net_meeting *m, struct err *err);

#endif
