// What a back end of comm.h provides.
#ifndef MUSTER_KERNELS_COMM_BACKEND_H
#define MUSTER_KERNELS_COMM_BACKEND_H

#include "kernels/comm/comm.h"

struct comm_backend {
    const char *name;
    bool on_gpu;
    void (*destroy)(struct comm *c); // not the struct itself
    void (*abort)(struct comm *c, int code);
    void (*allreduce_i64)(struct comm *c, int64_t *sum, size_t n);
    void (*allgather)(struct comm *c, void *all, const void *part, size_t bytes);
    void (*reduce_scatter_i64)(struct comm *c, int64_t *part, const int64_t *all,
                               size_t n);
    void (*broadcast)(struct comm *c, void *p, size_t bytes, int root);
    void (*send)(struct comm *c, const void *p, size_t bytes, int to, int tag);
    void (*post)(struct comm *c, const void *p, size_t bytes, int to, int tag);
    void (*recv)(struct comm *c, void *p, size_t bytes, int from, int tag);
    bool (*ready)(struct comm *c, int from, int tag);
    struct comm *(*split)(struct comm *c, int color, int key);
};

struct comm {
    const struct comm_backend *backend;
    void *state; // the back end's
    int rank, size;
};

struct comm *comm_new(const struct comm_backend *backend, void *state, int rank,
                      int size);

#endif
