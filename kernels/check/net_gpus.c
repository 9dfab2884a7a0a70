// Several GPUs, one thread: NCCL's groups start on all what a wait for each ends.
#include "kernels/check/net_gpus.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/mem.h"
#include "kernels/check/cuda_driver.h"
#include "kernels/check/finding.h"

// ncclResult_t: it was asked what it cannot do
enum { INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };

struct gpu {
    char bus_id[CUDA_DRIVER_BUS_ID];
    struct cuda_context *context;
    struct cuda_stream *stream;
    struct nccl_comm *comm;
    unsigned long long at; // its buffer; 0: none yet
};

struct net_gpus {
    struct cuda_driver driver;
    struct nccl nccl;
    struct gpu gpu[NET_GPUS_MAX];
    unsigned n;
};

// ---- errors -----------------------------------------------------------------------

static int driver_did(struct net_gpus *g, const char *call, int rc, int code,
                      struct err *err)
{
    if (rc == 0)
        return 0;
    cuda_driver_say(&g->driver, call, rc, code, err);
    return -1;
}

static int nccl_did(struct net_gpus *g, const char *call, int rc, struct err *err)
{
    if (rc == NCCL_SUCCESS)
        return 0;
    bool usage = rc == INVALID_ARGUMENT || rc == INVALID_USAGE;
    nccl_say(&g->nccl, NULL, call, rc, err);
    err->code = usage ? FINDING_COULD_NOT_RUN : FINDING_FAIL;
    return -1;
}

static int of_gpu(const struct net_gpus *g, unsigned i, int rc, struct err *err)
{
    if (rc < 0)
        err_prefix(err, "GPU %u (%s)", i, g->gpu[i].bus_id);
    return rc;
}

static int use(struct net_gpus *g, unsigned i, struct err *err)
{
    return driver_did(g, "cuCtxSetCurrent", g->driver.set_context(g->gpu[i].context),
                      FINDING_FAIL, err);
}

// ---- opening ----------------------------------------------------------------------

static int open_gpu(struct net_gpus *g, unsigned i, struct err *err)
{
    const struct cuda_driver *d = &g->driver;
    struct gpu *gpu = &g->gpu[i];
    int device = 0;
    if (driver_did(g, "cuDeviceGet", d->device(&device, (int)i), FINDING_COULD_NOT_RUN,
                   err) < 0)
        return -1;
    if (d->bus_id(gpu->bus_id, sizeof gpu->bus_id, device) != 0)
        gpu->bus_id[0] = '\0';
    if (driver_did(g, "cuDevicePrimaryCtxRetain",
                   d->retain_context(&gpu->context, device), FINDING_COULD_NOT_RUN,
                   err) < 0 ||
        use(g, i, err) < 0)
        return -1;
    return driver_did(g, "cuStreamCreate", d->make_stream(&gpu->stream, 0),
                      FINDING_COULD_NOT_RUN, err);
}

static int open_all(struct net_gpus *g, struct err *err)
{
    int n = 0;
    if (driver_did(g, "cuDeviceGetCount", g->driver.count(&n), FINDING_COULD_NOT_RUN,
                   err) < 0)
        return -1;
    if (n < 1 || n > NET_GPUS_MAX) {
        err_set_kind(err, NULL, FINDING_COULD_NOT_RUN,
                     "%d GPUs are given to this process; 1 to %d can be checked", n,
                     NET_GPUS_MAX);
        return -1;
    }
    for (; g->n < (unsigned)n; g->n++)
        if (of_gpu(g, g->n, open_gpu(g, g->n, err), err) < 0)
            return -1;
    return 0;
}

struct net_gpus *net_gpus_open(const char *driver, const char *nccl, struct err *err)
{
    struct net_gpus *g = xcalloc(1, sizeof *g);
    if (cuda_driver_open(driver, &g->driver, err) == 0) {
        if (nccl_open(nccl, &g->nccl, err) < 0)
            err->code = FINDING_COULD_NOT_RUN;
        else if (open_all(g, err) == 0)
            return g;
    }
    net_gpus_close(g);
    return NULL;
}

void net_gpus_close(struct net_gpus *g)
{
    free(g);
}

unsigned net_gpus_count(const struct net_gpus *g)
{
    return g->n;
}

const char *net_gpus_bus_id(const struct net_gpus *g, unsigned i)
{
    return g->gpu[i].bus_id;
}

// ---- meeting ----------------------------------------------------------------------

int net_gpus_make_id(struct net_gpus *g, struct nccl_id *id, struct err *err)
{
    return nccl_did(g, "ncclGetUniqueId", g->nccl.get_unique_id(id), err);
}

int net_gpus_join(struct net_gpus *g, const struct nccl_id *id, unsigned ranks,
                  unsigned first, struct err *err)
{
    if (nccl_did(g, "ncclGroupStart", g->nccl.group_start(), err) < 0)
        return -1;
    for (unsigned i = 0; i < g->n; i++) {
        if (use(g, i, err) < 0)
            return -1;
        int rc =
            g->nccl.comm_init_rank(&g->gpu[i].comm, (int)ranks, *id, (int)(first + i));
        if (of_gpu(g, i, nccl_did(g, "ncclCommInitRank", rc, err), err) < 0)
            return -1;
    }
    return nccl_did(g, "ncclCommInitRank", g->nccl.group_end(), err);
}

// ---- buffers ----------------------------------------------------------------------

static int room(struct net_gpus *g, unsigned i, size_t bytes, struct err *err)
{
    struct gpu *gpu = &g->gpu[i];
    if (use(g, i, err) < 0)
        return -1;
    if (gpu->at != 0 &&
        driver_did(g, "cuMemFree", g->driver.free(gpu->at), FINDING_FAIL, err) < 0)
        return -1;
    gpu->at = 0;
    return driver_did(g, "cuMemAlloc", g->driver.alloc(&gpu->at, bytes),
                      FINDING_COULD_NOT_RUN, err);
}

int net_gpus_room(struct net_gpus *g, size_t words, struct err *err)
{
    for (unsigned i = 0; i < g->n; i++)
        if (of_gpu(g, i, room(g, i, words * sizeof(uint64_t), err), err) < 0)
            return -1;
    return 0;
}

int net_gpus_put(struct net_gpus *g, unsigned i, const uint64_t *words, size_t n,
                 struct err *err)
{
    if (use(g, i, err) < 0)
        return -1;
    int rc = g->driver.put(g->gpu[i].at, words, n * sizeof *words);
    return of_gpu(g, i, driver_did(g, "cuMemcpyHtoD", rc, FINDING_FAIL, err), err);
}

int net_gpus_get(struct net_gpus *g, unsigned i, uint64_t *words, size_t n,
                 struct err *err)
{
    if (use(g, i, err) < 0)
        return -1;
    int rc = g->driver.get(words, g->gpu[i].at, n * sizeof *words);
    return of_gpu(g, i, driver_did(g, "cuMemcpyDtoH", rc, FINDING_FAIL, err), err);
}

// ---- collectives ------------------------------------------------------------------

static int wait_all(struct net_gpus *g, struct err *err)
{
    for (unsigned i = 0; i < g->n; i++) {
        if (use(g, i, err) < 0)
            return -1;
        int rc = g->driver.wait_stream(g->gpu[i].stream), late = NCCL_SUCCESS;
        if (of_gpu(g, i, driver_did(g, "cuStreamSynchronize", rc, FINDING_FAIL, err),
                   err) < 0)
            return -1;
        rc = g->nccl.comm_async_error(g->gpu[i].comm, &late);
        if (rc == NCCL_SUCCESS && late != NCCL_IN_PROGRESS)
            rc = late;
        if (of_gpu(g, i, nccl_did(g, "a collective", rc, err), err) < 0)
            return -1;
    }
    return 0;
}

static void *buffer(const struct gpu *gpu)
{
    return (void *)(uintptr_t)gpu->at;
}

// root: whose words all get; -1: the sum.
static int start(struct net_gpus *g, const struct gpu *gpu, size_t n, int root)
{
    void *at = buffer(gpu);
    if (root < 0)
        return g->nccl.all_reduce(at, at, n, NCCL_INT64, NCCL_SUM, gpu->comm,
                                  gpu->stream);
    return g->nccl.broadcast(at, at, n, NCCL_INT64, root, gpu->comm, gpu->stream);
}

static int collective(struct net_gpus *g, const char *name, size_t n, int root,
                      struct err *err)
{
    if (nccl_did(g, name, g->nccl.group_start(), err) < 0)
        return -1;
    for (unsigned i = 0; i < g->n; i++) {
        int rc = start(g, &g->gpu[i], n, root);
        if (of_gpu(g, i, nccl_did(g, name, rc, err), err) < 0)
            return -1;
    }
    return nccl_did(g, name, g->nccl.group_end(), err) < 0 ? -1 : wait_all(g, err);
}

int net_gpus_sum(struct net_gpus *g, size_t n, struct err *err)
{
    return collective(g, "ncclAllReduce", n, -1, err);
}

int net_gpus_broadcast(struct net_gpus *g, size_t n, unsigned root, struct err *err)
{
    return collective(g, "ncclBroadcast", n, (int)root, err);
}
