// What each rank has, and what all make of it.
#include "kernels/comm/gpu_way.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/comm/agree.h"

bool gpu_way_parse(enum gpu_way_kind *kind, const char *name)
{
    static const char *const names[] = {"auto", "mpi", "nccl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        *kind = (enum gpu_way_kind)i;
        return true;
    }
    return false;
}

// NCCL wants a GPU for each rank. (all)
static int check_devices(struct comm *world, const char *device, struct err *err)
{
    size_t ranks = (size_t)comm_size(world);
    char own[GPU_WAY_DEVICE] = "";
    CLEANUP_FREE char *all = xcalloc(ranks, sizeof own);
    strncpy(own, device, sizeof own - 1);
    comm_allgather(world, all, own, sizeof own);
    for (size_t b = 1; b < ranks; b++) {
        for (size_t a = 0; a < b; a++) {
            const char *one = all + a * sizeof own;
            if (strcmp(one, all + b * sizeof own) != 0)
                continue;
            err_set(err, "ranks %zu and %zu share a GPU (%s)", a, b, one);
            return -1;
        }
    }
    return 0;
}

static int check(struct comm *world, const char *device, struct nccl *lib,
                 struct err *err)
{
    int rc = device[0] != '\0' ? nccl_open(NCCL_LIBRARY, lib, err) : -1;
    if (device[0] == '\0')
        err_set(err, "ranks compute on CPUs (--compute cuda is for GPUs)");
    if (agree(world, rc, NULL, err) < 0)
        return -1;
    return check_devices(world, device, err);
}

int gpu_way_choose(struct comm *world, enum gpu_way_kind kind, const char *device,
                   struct gpu_way *out, struct err *err)
{
    ERR_AUTO why = ERR_INIT;
    const bool told[] = {kind == GPU_WAY_AUTO, kind == GPU_WAY_NCCL, device[0] != '\0'};
    *out = (struct gpu_way){0};
    if (agree_same(world, told, sizeof told, "--comm or --compute", err) < 0)
        return -1;
    if (kind == GPU_WAY_MPI || (kind == GPU_WAY_AUTO && device[0] == '\0'))
        return 0;
    out->nccl = check(world, device, &out->lib, &why) == 0;
    if (out->nccl)
        return 0;
    if (kind == GPU_WAY_AUTO) {
        out->why = xstrdup(err_text(&why));
        return 0;
    }
    err_set(err, "--comm nccl: %s; --comm mpi goes through the host's memory",
            err_text(&why));
    return -1;
}

void gpu_way_clear(struct gpu_way *w)
{
    free(w->why);
    w->why = NULL;
}
