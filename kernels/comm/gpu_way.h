// Which way goes, from rank to rank, what lies on their GPUs: NCCL, or staged through the host's
// memory by MPI.
#ifndef MUSTER_KERNELS_COMM_GPU_WAY_H
#define MUSTER_KERNELS_COMM_GPU_WAY_H

#include <stdbool.h>

#include "common/err.h"
#include "kernels/comm/comm.h"
#include "kernels/nccl/nccl.h"

enum gpu_way_kind { GPU_WAY_AUTO, GPU_WAY_MPI, GPU_WAY_NCCL };
// "auto", "mpi", "nccl"; false: none of them.
bool gpu_way_parse(enum gpu_way_kind *kind, const char *name);

enum { GPU_WAY_DEVICE = 64 };

struct gpu_way {
    bool nccl; // then lib is there, and comm_nccl() can be called
    struct nccl lib;
    char *why; // auto: why not nccl; NULL where ranks compute on CPUs; owned
};

// (all) device: which GPU this rank computes on, the same text for the same one (compute.h); "": the
// CPU. auto is NCCL where each rank has a GPU of its own, and the library. Error: it is to be NCCL,
// and cannot; or the ranks were told different things.
int gpu_way_choose(struct comm *world, enum gpu_way_kind kind, const char *device,
                   struct gpu_way *out, struct err *err);
void gpu_way_clear(struct gpu_way *w);

#endif
