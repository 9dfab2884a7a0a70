// What a node answers to the PMI-1 commands of its ranks. Pure: replies and what
// concerns others leave through callbacks.
//
// A barrier is complete here when all local ranks are in it: barrier() hands out the
// node's part, pmi1_serve_barrier_done() brings the result, with what the other nodes'
// ranks have put. Names and spawns are others' to serve: each rank asks for one thing at a
// time and waits for its answer. A command that is not served gets a reply with rc=-1 and
// a reason.
#ifndef MUSTER_AGENT_PMI1_SERVE_H
#define MUSTER_AGENT_PMI1_SERVE_H

#include <stdint.h>

#include "agent/pmi1_parse.h"
#include "wire/muster.pb-c.h"
#include "wire/namestore.h"

struct pmi1_serve;

enum {
    // Announced. MPICH reads and writes lines of at most 1,024 bytes.
    PMI1_NAME_MAX = 256,
    PMI1_KEY_MAX = 64,
    PMI1_VALUE_MAX = 880,
    PMI1_KVS_BYTES_MAX = 32 << 20,
};

struct pmi1_serve_ops {
    // A whole line with its LF, for the local rank.
    void (*reply)(void *arg, size_t local, const char *line);
    void (*connected)(void *arg, size_t local);
    void (*finalized)(void *arg, size_t local);
    void (*aborted)(void *arg, size_t local, int code, const char *text);
    // The how-many-th barrier, and what was put here since the last one.
    void (*barrier)(void *arg, uint64_t index, const void *data, size_t len);
    // Answered by pmi1_serve_names_done(). `port` is there to publish, else NULL.
    void (*names)(void *arg, size_t local, enum namestore_op op, const char *service,
                  const char *port);
    // Answered by pmi1_serve_spawn_done(). The callee sets id and parent.
    void (*spawn)(void *arg, size_t local, Muster__SpawnRequest *request);
};

// `self` is the own position. Everything is copied but ops.
struct pmi1_serve *pmi1_serve_create(const Muster__Prepare *prepare, size_t self,
                                     const struct pmi1_serve_ops *ops, void *arg);
void pmi1_serve_destroy(struct pmi1_serve *s); // NULL-safe

// -1: the rank breaks the protocol and is not to be heard any more.
int pmi1_serve_command(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                       struct err *err);
// The result of barrier `index`; another one is ignored. Each local rank gets its reply.
// -1: the data makes no sense; the ranks got a failure.
int pmi1_serve_barrier_done(struct pmi1_serve *s, uint64_t index, int32_t status,
                            const char *why, const void *data, size_t len,
                            struct err *err);
// `port`: what a lookup has found. Nothing happens where the rank did not ask.
void pmi1_serve_names_done(struct pmi1_serve *s, size_t local,
                           enum namestore_status status, const char *port);
// `error` is empty where the world was started.
void pmi1_serve_spawn_done(struct pmi1_serve *s, size_t local, const char *error);

#endif
