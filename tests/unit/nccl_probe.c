// nccl_probe [INIT_MS]: a rank that holds the nccl back end's collectives, on an emulated GPU's memory,
// to those of the host's back end, MPI or a rank alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/comm/agree.h"
#include "kernels/comm/gpu_way.h"
#include "kernels/comm/nccl.h"
#include "tests/unit/emulated.h"

struct probe {
    struct comm *host, *gpu;
    size_t n, ranks;
    int64_t *own, *want, *is; // ranks * n each: in the host's memory
    int64_t *from, *to;       // in the GPU's
    int wrong;
};

// All 64 bits are used: sums wrap around.
static void fill(struct probe *p)
{
    uint64_t x = (uint64_t)comm_rank(p->host) * UINT64_C(0x9e3779b97f4a7c15) + p->n;
    for (size_t i = 0; i < p->ranks * p->n; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        p->own[i] = (int64_t)x;
    }
    memcpy(p->want, p->own, p->ranks * p->n * sizeof *p->own);
    compute_emulated()->put(p->from, p->own, p->ranks * p->n * sizeof *p->own);
    compute_emulated()->put(p->to, p->own, p->ranks * p->n * sizeof *p->own);
}

static void compare(struct probe *p, const char *what, const int64_t *at, size_t n)
{
    compute_emulated()->get(p->is, at, n * sizeof *p->is);
    if (memcmp(p->is, p->want, n * sizeof *p->is) == 0)
        return;
    printf("rank %d of %zu: %s of %zu differs\n", comm_rank(p->host), p->ranks, what,
           p->n);
    p->wrong++;
}

static void collectives(struct probe *p)
{
    size_t n = p->n, bytes = n * sizeof(int64_t);
    int64_t *own_part = p->to + (size_t)comm_rank(p->host) * n;
    fill(p);
    comm_allreduce_i64(p->host, p->want, n);
    comm_allreduce_i64(p->gpu, p->to, n);
    compare(p, "allreduce", p->to, n);
    fill(p);
    comm_allgather(p->host, p->want, p->own, bytes);
    comm_allgather(p->gpu, p->to, p->from, bytes);
    compare(p, "allgather", p->to, p->ranks * n);
    fill(p);
    comm_allgather(p->host, p->want, p->want + (own_part - p->to), bytes);
    comm_allgather(p->gpu, p->to, own_part, bytes);
    compare(p, "allgather in place", p->to, p->ranks * n);
    fill(p);
    comm_reduce_scatter_i64(p->host, p->want, p->own, n);
    comm_reduce_scatter_i64(p->gpu, p->to, p->from, n);
    compare(p, "reduce-scatter", p->to, n);
    fill(p);
    comm_broadcast(p->host, p->want, bytes, (int)p->ranks - 1);
    comm_broadcast(p->gpu, p->to, bytes, (int)p->ranks - 1);
    compare(p, "broadcast", p->to, n);
}

static int all_sizes(struct comm *host, struct comm *gpu)
{
    static const size_t sizes[] = {1, 1000, 40001}; // the last: several chunks
    const struct compute *c = compute_emulated();
    int wrong = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct probe p = {
            .host = host, .gpu = gpu, .n = sizes[i], .ranks = (size_t)comm_size(host)};
        size_t bytes = p.ranks * p.n * sizeof(int64_t);
        p.own = xmalloc(bytes);
        p.want = xmalloc(bytes);
        p.is = xmalloc(bytes);
        p.from = c->alloc(bytes);
        p.to = c->alloc(bytes);
        collectives(&p);
        wrong += p.wrong;
        free(p.own);
        free(p.want);
        free(p.is);
        c->free(p.from);
        c->free(p.to);
    }
    return wrong;
}

// Messages are the host's; halves of the ranks have communicators of their own.
static int the_rest(struct comm *host, struct comm *gpu)
{
    int rank = comm_rank(host), size = comm_size(host), got = -1;
    struct comm *half_host = comm_split(host, rank % 2, rank);
    struct comm *half_gpu = comm_split(gpu, rank % 2, rank);
    int wrong = comm_size(half_gpu) != comm_size(half_host);
    wrong += all_sizes(half_host, half_gpu);
    if (size > 1) {
        if (rank % 2 == 0 && rank + 1 < size)
            (rank == 0 ? comm_send : comm_post)(gpu, &rank, sizeof rank, rank + 1, 7);
        if (rank % 2 == 1) {
            comm_recv(gpu, &got, sizeof got, rank - 1, 7);
            wrong += got != rank - 1;
        }
    }
    comm_destroy(half_gpu);
    comm_destroy(half_host);
    return wrong;
}

static int run(struct comm *host, uint32_t init_ms, struct err *err)
{
    char device[COMPUTE_DEVICE];
    struct gpu_way way;
    compute_emulated()->device(device);
    if (gpu_way_choose(host, GPU_WAY_NCCL, device, &way, err) < 0)
        return -1;
    struct comm *gpu = comm_nccl(host, &way.lib, init_ms);
    int wrong = all_sizes(host, gpu) + the_rest(host, gpu);
    if (wrong > 0)
        err_set(err, "%d wrong", wrong);
    int rc = agree(host, wrong > 0 ? -1 : 0, NULL, err);
    if (rc == 0 && comm_rank(host) == 0)
        printf("%s as %s on %d ranks\n", comm_name(gpu), comm_name(host),
               comm_size(host));
    comm_destroy(gpu);
    gpu_way_clear(&way);
    return rc;
}

int main(int argc, char **argv)
{
    ERR_AUTO err = ERR_INIT;
    uint32_t init_ms = argc > 1 ? (uint32_t)atoi(argv[1]) : COMM_NCCL_INIT_MS;
    struct comm *host = comm_open(&err);
    if (host == NULL || run(host, init_ms, &err) < 0) {
        fprintf(stderr, "nccl_probe: %s\n", err_text(&err));
        comm_destroy(host);
        return 2;
    }
    comm_destroy(host);
    return 0;
}
