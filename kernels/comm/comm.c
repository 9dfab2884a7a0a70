// Collectives: which back end, and the calls to it.
#include "kernels/comm/comm.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/mem.h"
#include "kernels/comm/backend.h"
#include "kernels/comm/mpi.h"

// Has a launcher made a world for this process? MPI_Init without one costs half a second, and a
// world of one.
static bool launched(void)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE",
                                        "PMI_FD"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (getenv(names[i]) != NULL)
            return true;
    }
    return false;
}

struct comm *comm_open(struct err *err)
{
    return launched() ? comm_mpi(err) : comm_self();
}

struct comm *comm_new(const struct comm_backend *backend, void *state, int rank,
                      int size)
{
    struct comm *c = xcalloc(1, sizeof *c);
    *c = (struct comm){.backend = backend, .state = state, .rank = rank, .size = size};
    return c;
}

void comm_destroy(struct comm *c)
{
    if (c == NULL)
        return;
    c->backend->destroy(c);
    free(c);
}

void comm_abort(struct comm *c, int code)
{
    c->backend->abort(c, code);
    _exit(code);
}

int comm_rank(const struct comm *c)
{
    return c->rank;
}

int comm_size(const struct comm *c)
{
    return c->size;
}

const char *comm_name(const struct comm *c)
{
    return c->backend->name;
}

bool comm_on_gpu(const struct comm *c)
{
    return c->backend->on_gpu;
}

void comm_allreduce_i64(struct comm *c, int64_t *sum, size_t n)
{
    c->backend->allreduce_i64(c, sum, n);
}

void comm_allgather(struct comm *c, void *all, const void *part, size_t bytes)
{
    c->backend->allgather(c, all, part, bytes);
}

void comm_reduce_scatter_i64(struct comm *c, int64_t *part, const int64_t *all,
                             size_t n)
{
    c->backend->reduce_scatter_i64(c, part, all, n);
}

void comm_broadcast(struct comm *c, void *p, size_t bytes, int root)
{
    c->backend->broadcast(c, p, bytes, root);
}

void comm_send(struct comm *c, const void *p, size_t bytes, int to, int tag)
{
    c->backend->send(c, p, bytes, to, tag);
}

void comm_post(struct comm *c, const void *p, size_t bytes, int to, int tag)
{
    c->backend->post(c, p, bytes, to, tag);
}

void comm_recv(struct comm *c, void *p, size_t bytes, int from, int tag)
{
    c->backend->recv(c, p, bytes, from, tag);
}

bool comm_ready(struct comm *c, int from, int tag)
{
    return c->backend->ready(c, from, tag);
}

struct comm *comm_split(struct comm *c, int color, int key)
{
    return c->backend->split(c, color, key);
}
