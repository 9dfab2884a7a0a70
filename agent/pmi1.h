// PMI-1 for the ranks of one world on this node: a socket for each rank in the agent's
// loop, and barriers as allgathers over all ranks (wire/coll.h, COLL_PMI1).
#ifndef MUSTER_AGENT_PMI1_H
#define MUSTER_AGENT_PMI1_H

#include <stdint.h>

#include "common/err.h"
#include "wire/muster.pb-c.h"

struct event_base;
struct log;
struct pmi1;

struct pmi1_conf {
    struct event_base *base;
    struct log *log;
    const Muster__Prepare *prepare; // borrowed, as long as the object lives
    size_t self;                    // own position in it
};

// They must not destroy the object.
struct pmi1_ops {
    void (*connected)(void *arg, size_t local); // the rank has called MPI_Init
    void (*finalized)(void *arg, size_t local);
    void (*aborted)(void *arg, size_t local, int code, const char *text);
    void (*part)(void *arg, const Muster__Coll *part); // this node's, of a barrier
    void (*failed)(void *arg, const struct err *err);  // no barrier can succeed
    // Requests without their id: the callee's, so that it finds the way back.
    void (*names)(void *arg, size_t local, Muster__Names *request);
    void (*spawn)(void *arg, size_t local, Muster__SpawnRequest *request);
};

// Takes over the fds, one for each local rank in their order.
struct pmi1 *pmi1_create(const struct pmi1_conf *conf, const int *fds,
                         const struct pmi1_ops *ops, void *arg);
void pmi1_destroy(struct pmi1 *p); // NULL-safe

// The result of a barrier.
void pmi1_result(struct pmi1 *p, const Muster__Coll *result);
// The answers to a rank's requests; passed over where it waits for none.
void pmi1_names_done(struct pmi1 *p, size_t local, const Muster__NamesDone *done);
void pmi1_spawn_done(struct pmi1 *p, size_t local, const Muster__SpawnDone *done);
// The rank has ended: hears what it said before.
void pmi1_drain(struct pmi1 *p, size_t local);

#endif
