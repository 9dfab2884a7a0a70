// The world of MPI: MPI_COMM_WORLD and what is split from it.
#include "kernels/comm/mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/comm/backend.h"

enum { CHUNK = 1 << 26 }; // elements of one call, where a long one can be cut

// A message on its way, with its copy.
struct posted {
    MPI_Request request;
    struct posted *next;
    char bytes[];
};

struct world {
    MPI_Comm comm;
    bool owned;                   // split from the world, not the world
    struct posted *posted, **end; // the oldest first
};

static MPI_Comm mpi_of(const struct comm *c)
{
    const struct world *w = c->state;
    return w->comm;
}

// MPI counts with int. Nothing that is sent whole comes near (a layer's parameters).
static int count_of(struct comm *c, size_t n)
{
    if (n <= INT_MAX)
        return (int)n;
    fprintf(stderr, "muster: a collective of %zu elements: MPI's limit is %d\n", n,
            INT_MAX);
    comm_abort(c, 125);
}

// The largest unit that bytes are a multiple of, so that the count stays small.
static MPI_Datatype unit_of(size_t *bytes)
{
    if (*bytes % sizeof(int32_t) != 0)
        return MPI_BYTE;
    *bytes /= sizeof(int32_t);
    return MPI_INT32_T;
}

static void forget_oldest(struct world *w)
{
    struct posted *p = w->posted;
    w->posted = p->next;
    if (w->posted == NULL)
        w->end = &w->posted;
    free(p);
}

static void mpi_destroy(struct comm *c)
{
    struct world *w = c->state;
    while (w->posted != NULL) {
        MPI_Wait(&w->posted->request, MPI_STATUS_IGNORE);
        forget_oldest(w);
    }
    if (w->owned)
        MPI_Comm_free(&w->comm);
    else
        MPI_Finalize();
    free(w);
}

static void mpi_abort(struct comm *c, int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

static void mpi_allreduce(struct comm *c, int64_t *sum, size_t n)
{
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t count = n - at < CHUNK ? n - at : CHUNK;
        MPI_Allreduce(MPI_IN_PLACE, sum + at, (int)count, MPI_INT64_T, MPI_SUM,
                      mpi_of(c));
    }
}

static void mpi_allgather(struct comm *c, void *all, const void *part, size_t bytes)
{
    const char *own = (const char *)all + (size_t)c->rank * bytes;
    const void *from = part == own ? MPI_IN_PLACE : part;
    MPI_Datatype unit = unit_of(&bytes);
    int n = count_of(c, bytes);
    MPI_Allgather(from, n, unit, all, n, unit, mpi_of(c));
}

static void mpi_reduce_scatter(struct comm *c, int64_t *part, const int64_t *all,
                               size_t n)
{
    MPI_Reduce_scatter_block(all, part, count_of(c, n), MPI_INT64_T, MPI_SUM,
                             mpi_of(c));
}

static void mpi_broadcast(struct comm *c, void *p, size_t bytes, int root)
{
    MPI_Datatype unit = unit_of(&bytes);
    MPI_Bcast(p, count_of(c, bytes), unit, root, mpi_of(c));
}

static void mpi_send(struct comm *c, const void *p, size_t bytes, int to, int tag)
{
    MPI_Datatype unit = unit_of(&bytes);
    MPI_Send(p, count_of(c, bytes), unit, to, tag, mpi_of(c));
}

static void forget_gone(struct world *w)
{
    for (int gone = 1; w->posted != NULL;) {
        MPI_Test(&w->posted->request, &gone, MPI_STATUS_IGNORE);
        if (!gone)
            return;
        forget_oldest(w);
    }
}

// Not MPI_Send, though p may be short: from some 256 bytes on, Open MPI returns from that when the
// receiver has taken them from the memory that both share.
static void mpi_post(struct comm *c, const void *p, size_t bytes, int to, int tag)
{
    struct world *w = c->state;
    size_t n = bytes;
    MPI_Datatype unit = unit_of(&n);
    struct posted *own = xmalloc(sizeof *own + bytes);
    forget_gone(w);
    memcpy(own->bytes, p, bytes);
    own->next = NULL;
    MPI_Isend(own->bytes, count_of(c, n), unit, to, tag, w->comm, &own->request);
    *w->end = own;
    w->end = &own->next;
}

static void mpi_recv(struct comm *c, void *p, size_t bytes, int from, int tag)
{
    MPI_Datatype unit = unit_of(&bytes);
    MPI_Recv(p, count_of(c, bytes), unit, from, tag, mpi_of(c), MPI_STATUS_IGNORE);
}

static bool mpi_ready(struct comm *c, int from, int tag)
{
    int there = 0;
    MPI_Iprobe(from, tag, mpi_of(c), &there, MPI_STATUS_IGNORE);
    return there != 0;
}

static struct comm *mpi_split(struct comm *c, int color, int key);

static struct comm *wrap(MPI_Comm comm, bool owned)
{
    static const struct comm_backend backend = {
        .name = "mpi",
        .destroy = mpi_destroy,
        .abort = mpi_abort,
        .allreduce_i64 = mpi_allreduce,
        .allgather = mpi_allgather,
        .reduce_scatter_i64 = mpi_reduce_scatter,
        .broadcast = mpi_broadcast,
        .send = mpi_send,
        .post = mpi_post,
        .recv = mpi_recv,
        .ready = mpi_ready,
        .split = mpi_split,
    };
    struct world *w = xcalloc(1, sizeof *w);
    *w = (struct world){.comm = comm, .owned = owned, .end = &w->posted};
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    return comm_new(&backend, w, rank, size);
}

static struct comm *mpi_split(struct comm *c, int color, int key)
{
    MPI_Comm part;
    MPI_Comm_split(mpi_of(c), color, key, &part);
    return wrap(part, true);
}

// Open MPI whose launcher it does not understand makes a world of one of each rank, without a
// word. What the launcher says itself shows that. 0, or -1.
static int check_size(int size, struct err *err)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *said = getenv(names[i]);
        if (said == NULL || atoi(said) == size)
            continue;
        err_set(err,
                "MPI made a world of %d, and %s says %s: this is Open MPI, started by "
                "another MPI's launcher",
                size, names[i], said);
        return -1;
    }
    return 0;
}

struct comm *comm_mpi(struct err *err)
{
    // Ranks that wait give their core to those that compute: there may be fewer cores.
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) {
        err_set(err, "MPI_Init failed");
        return NULL;
    }
    struct comm *c = wrap(MPI_COMM_WORLD, false);
    if (check_size(c->size, err) == 0)
        return c;
    comm_destroy(c);
    return NULL;
}
