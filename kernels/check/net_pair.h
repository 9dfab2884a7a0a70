// What the two ends of a pair do with each other: round trips, and bytes both ways.
//
//   dialler                         listener
//   PINGS times: 64 bytes ->        <- the same 64 bytes
//   its median round trip ->
//   pieces of a pattern, end ->     <- what came: bytes, time, what was wrong
//                                   <- pieces of a pattern, end
//   what came ->
// ROUNDS times. Each end verifies each word that it gets.
#ifndef MUSTER_KERNELS_CHECK_NET_PAIR_H
#define MUSTER_KERNELS_CHECK_NET_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/check/supervise.h"

enum { NET_ROUNDS = 3, NET_PINGS = 64, NET_PIECE = 256 * 1024 };

// What one end got in one transfer.
struct net_got {
    uint64_t bytes, ns;
    uint64_t wrong;                 // words
    uint64_t offset, expected, got; // of the first wrong one
};

struct net_pair {
    int fd;
    bool dials;                        // it leads
    uint64_t seed, bytes, transfer_ms; // a transfer ends at the first limit
    uint64_t until_ms;
    struct stages *stages;

    unsigned rounds;               // done
    double rtt_us;                 // best of the rounds
    struct net_got sent, received; // best rate of the rounds, but a wrong one stays
};

int net_pair_run(struct net_pair *p, struct err *err);
double net_got_mb_s(const struct net_got *got);
uint64_t net_median(uint64_t *numbers, size_t n); // sorts them

#endif
