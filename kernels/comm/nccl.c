// NCCL's calls; where one fails, the end.
#include "kernels/comm/nccl.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"
#include "kernels/comm/backend.h"
#include "kernels/comm/nccl_watch.h"

enum { FAILED = 1 };

struct world {
    struct comm *base;
    bool owned; // base: split for this one
    const struct nccl *lib;
    uint32_t init_ms;
    struct nccl_comm *comm;
    struct nccl_watch *watch;
};

static struct world *world_of(const struct comm *c)
{
    return c->state;
}

static _Noreturn void end(struct world *w, const char *call, int result)
{
    ERR_AUTO err = ERR_INIT;
    nccl_say(w->lib, w->comm, call, result, &err);
    fprintf(stderr, "muster: rank %d: %s\n", comm_rank(w->base), err_text(&err));
    comm_abort(w->base, FAILED);
}

static void must(struct world *w, const char *call, int result)
{
    if (result != NCCL_SUCCESS)
        end(w, call, result);
}

// ---- collectives ------------------------------------------------------------------

static void nccl_allreduce(struct comm *c, int64_t *sum, size_t n)
{
    static const char name[] = "ncclAllReduce";
    struct world *w = world_of(c);
    nccl_watch_call(w->watch, name);
    must(w, name, w->lib->all_reduce(sum, sum, n, NCCL_INT64, NCCL_SUM, w->comm, NULL));
}

static void nccl_allgather(struct comm *c, void *all, const void *part, size_t bytes)
{
    static const char name[] = "ncclAllGather";
    struct world *w = world_of(c);
    nccl_watch_call(w->watch, name);
    must(w, name, w->lib->all_gather(part, all, bytes, NCCL_INT8, w->comm, NULL));
}

static void nccl_reduce_scatter(struct comm *c, int64_t *part, const int64_t *all,
                                size_t n)
{
    static const char name[] = "ncclReduceScatter";
    struct world *w = world_of(c);
    nccl_watch_call(w->watch, name);
    must(w, name,
         w->lib->reduce_scatter(all, part, n, NCCL_INT64, NCCL_SUM, w->comm, NULL));
}

static void nccl_broadcast(struct comm *c, void *p, size_t bytes, int root)
{
    static const char name[] = "ncclBroadcast";
    struct world *w = world_of(c);
    nccl_watch_call(w->watch, name);
    must(w, name, w->lib->broadcast(p, p, bytes, NCCL_INT8, root, w->comm, NULL));
}

// ---- what stays the host's --------------------------------------------------------

static void base_abort(struct comm *c, int code)
{
    comm_abort(world_of(c)->base, code);
}

static void base_send(struct comm *c, const void *p, size_t bytes, int to, int tag)
{
    comm_send(world_of(c)->base, p, bytes, to, tag);
}

static void base_post(struct comm *c, const void *p, size_t bytes, int to, int tag)
{
    comm_post(world_of(c)->base, p, bytes, to, tag);
}

static void base_recv(struct comm *c, void *p, size_t bytes, int from, int tag)
{
    comm_recv(world_of(c)->base, p, bytes, from, tag);
}

static bool base_ready(struct comm *c, int from, int tag)
{
    return comm_ready(world_of(c)->base, from, tag);
}

// ---- lifetime ---------------------------------------------------------------------

static void nccl_destroy(struct comm *c)
{
    struct world *w = world_of(c);
    nccl_watch_destroy(w->watch);
    must(w, "ncclCommDestroy", w->lib->comm_destroy(w->comm));
    if (w->owned)
        comm_destroy(w->base);
    free(w);
}

static struct nccl_id share_id(struct world *w)
{
    struct nccl_id id = {{0}};
    if (comm_rank(w->base) == 0)
        must(w, "ncclGetUniqueId", w->lib->get_unique_id(&id));
    comm_broadcast(w->base, &id, sizeof id, 0);
    return id;
}

static struct comm *make(struct comm *base, bool owned, const struct nccl *lib,
                         uint32_t init_ms);

static struct comm *nccl_split(struct comm *c, int color, int key)
{
    struct world *w = world_of(c);
    return make(comm_split(w->base, color, key), true, w->lib, w->init_ms);
}

static struct comm *make(struct comm *base, bool owned, const struct nccl *lib,
                         uint32_t init_ms)
{
    static const struct comm_backend backend = {
        .name = "nccl",
        .on_gpu = true,
        .destroy = nccl_destroy,
        .abort = base_abort,
        .allreduce_i64 = nccl_allreduce,
        .allgather = nccl_allgather,
        .reduce_scatter_i64 = nccl_reduce_scatter,
        .broadcast = nccl_broadcast,
        .send = base_send,
        .post = base_post,
        .recv = base_recv,
        .ready = base_ready,
        .split = nccl_split,
    };
    int rank = comm_rank(base), size = comm_size(base);
    struct world *w = xcalloc(1, sizeof *w);
    *w = (struct world){.base = base, .owned = owned, .lib = lib, .init_ms = init_ms};
    struct nccl_id id = share_id(w);
    w->watch = nccl_watch_create(lib, rank, init_ms);
    must(w, "ncclCommInitRank", lib->comm_init_rank(&w->comm, size, id, rank));
    nccl_watch_begin(w->watch, w->comm);
    return comm_new(&backend, w, rank, size);
}

struct comm *comm_nccl(struct comm *base, const struct nccl *lib, uint32_t init_ms)
{
    return make(base, false, lib, init_ms);
}
