// Placeholders in the commands of --per-node: "{node_rank}" in arguments and in values of
// -x. Pure. The launcher checks texts before anything starts, the agents fill them in.
//
// A placeholder is a brace, a name (letters, digits, underscores) and a brace. "{{" is one
// brace. Every other brace stands for itself, so that JSON goes through as it is.
#ifndef MUSTER_WIRE_PLACEHOLDERS_H
#define MUSTER_WIRE_PLACEHOLDERS_H

#include <stdint.h>

#include "common/err.h"
#include "common/strv.h"
#include "wire/muster.pb-c.h"

// Borrowed. An address that is not known is NULL, a port 0: no text may ask for them then.
struct placeholders {
    uint32_t node_rank, nnodes;
    uint32_t rank, world;
    const char *leader_addr, *local_addr;
    uint32_t port;
};

// Of the node that is the world's position `self`.
struct placeholders placeholders_of(const Muster__Prepare *p, const Muster__Go *go,
                                    size_t self);
// -1 with err: a name that there is not, with its column (from 1) in `text`.
int placeholders_check(const char *text, struct err *err);
// Adds each text, filled in. Names that there are not stay as they are.
void placeholders_fill(const struct placeholders *p, char *const *texts, size_t n,
                       struct strv *out);
// The text that is filled in as `text`, whatever braces that has. Caller frees.
char *placeholders_escape(const char *text);

#endif
