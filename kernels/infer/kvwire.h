// What prefill and decode ranks say to each other over TCP. Little-endian, fixed sizes. Pure.
//
//   decode's leader  -> prefill's leader   ask, tokens      compute these positions
//   decode's leader  <- prefill's leader   ready, sources   they are held, and by whom
//   each decode rank -> prefill ranks      pull             these layers and heads of them
//   each decode rank <- prefill ranks      data, floats, end  or why not
//
// The first connection holds the positions: when it is closed they are let go. A pull names
// the hold, a random number, so that a slot that has another text by now is never read. Floats:
// layer by layer the keys, then the values, each [position][head][head_dim]. Their checksum comes
// behind them, so that they can be sent while it is made; without it they are not whole.
#ifndef MUSTER_KERNELS_INFER_KVWIRE_H
#define MUSTER_KERNELS_INFER_KVWIRE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/infer/shard.h"

enum {
    KVWIRE_MODEL = 64,   // hexadecimal digits of the checkpoint's SHA-256
    KVWIRE_ADDRESS = 48, // text of an address, NUL-terminated
    KVWIRE_SOURCES_MAX = 256,
};

// Why a peer does not get what it asks for.
enum kvwire_status {
    KVWIRE_OK,
    KVWIRE_BUSY,
    KVWIRE_OTHER_MODEL,
    KVWIRE_TOO_LONG,
    KVWIRE_GONE
};

// Layers (of the whole model) and heads of keys.
struct kvwire_part {
    uint32_t layer, layers, head, heads;
};

struct kvwire_ask {
    char magic[4]; // "MKA1"
    uint32_t n;    // positions, 1 or more: as many tokens follow
    char model[KVWIRE_MODEL];
};

struct kvwire_ready {
    char magic[4]; // "MKR1"
    uint32_t status;
    uint64_t hold;
    uint32_t nsources, zero; // sources that follow
};

struct kvwire_source {
    char address[KVWIRE_ADDRESS];
    uint32_t port;
    struct kvwire_part part;
};

struct kvwire_pull {
    char magic[4]; // "MKP1"
    uint32_t n;
    uint64_t hold;
    struct kvwire_part part;
};

struct kvwire_data {
    char magic[4]; // "MKD2"
    uint32_t status;
    char model[KVWIRE_MODEL];
    uint64_t hold;
    struct kvwire_part part;
    uint32_t n, zero;
    uint64_t bytes; // of the floats
};

struct kvwire_end {
    char magic[4]; // "MKE1"
    uint32_t crc;  // CRC-32 of the floats
};

struct kvwire_ask kvwire_ask_of(const char *model, uint32_t n);
struct kvwire_part kvwire_part_of(const struct shard *s);
// What of `a` is in `b`, too; no layers or no heads: nothing.
struct kvwire_part kvwire_common(const struct kvwire_part *a,
                                 const struct kvwire_part *b);
size_t kvwire_bytes(const struct kvwire_part *p, size_t head_dim, uint32_t n);

// Is it an answer to what was asked? Errors say what does not fit.
int kvwire_check_ready(const struct kvwire_ready *r, struct err *err);
int kvwire_check_sources(const struct kvwire_source *sources, size_t n,
                         struct err *err);
int kvwire_check_data(const struct kvwire_data *d, const struct kvwire_pull *pull,
                      const char *model, size_t head_dim, struct err *err);
int kvwire_check_end(const struct kvwire_end *e, uint32_t crc, struct err *err);
const char *kvwire_status_text(uint32_t status);

#endif
