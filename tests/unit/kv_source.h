// A child, which the caller waits for, that answers one pull of keys and values, rightly or not.
#ifndef MUSTER_TESTS_UNIT_KV_SOURCE_H
#define MUSTER_TESTS_UNIT_KV_SOURCE_H

#include <stddef.h>
#include <stdint.h>

// KV_PAUSED: it tells (a byte) that half is sent, and sends the rest when it is told to (a byte).
enum kv_fault { KV_NONE, KV_FLIPPED, KV_CUT, KV_OTHER_MODEL, KV_PAUSED };

#define KV_SOURCE_MODEL                                                                \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct kv_source {
    uint32_t port; // of 127.0.0.1
    int told;      // the caller's end of a pair of sockets; closed: a paused one ends
};

// What it sends is 1, 2, 3, ...
struct kv_source kv_source_start(enum kv_fault fault, size_t head_dim);

#endif
