// NVIDIA's collectives library, opened at run time: its functions, and what their errors say.
//
// No header of NVIDIA's is needed: the types follow nccl.h of 2.28, and have been so since 2.7. A
// program that meets no GPU never opens it. Buffers are in the memory of the GPU that was current
// when the communicator was made. A collective only starts: it is done when the CUDA stream that it
// was given is; NULL is the stream of kernels that are started without one. Any of these can block
// for as long as another rank does not come.
#ifndef MUSTER_KERNELS_NCCL_NCCL_H
#define MUSTER_KERNELS_NCCL_NCCL_H

#include <stddef.h>

#include "common/err.h"

#define NCCL_LIBRARY "libnccl.so.2" // where dlopen() looks

enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };      // ncclResult_t
enum { NCCL_INT8 = 0, NCCL_INT64 = 4, NCCL_SUM = 0 }; // ncclDataType_t, ncclRedOp_t

struct nccl_comm; // ncclComm_t

struct nccl_id { // ncclUniqueId
    char bytes[128];
};

// Each returns an ncclResult_t unless it says otherwise.
struct nccl {
    int (*get_unique_id)(struct nccl_id *);
    int (*comm_init_rank)(struct nccl_comm **, int ranks, struct nccl_id, int rank);
    int (*comm_destroy)(struct nccl_comm *);
    int (*comm_async_error)(struct nccl_comm *, int *result);
    const char *(*error_string)(int result);
    const char *(*last_error)(struct nccl_comm *); // NULL before 2.13
    int (*all_reduce)(const void *from, void *to, size_t n, int type, int op,
                      struct nccl_comm *, void *stream);
    int (*all_gather)(const void *part, void *all, size_t n, int type,
                      struct nccl_comm *, void *stream);
    int (*reduce_scatter)(const void *all, void *part, size_t n, int type, int op,
                          struct nccl_comm *, void *stream);
    int (*broadcast)(const void *from, void *to, size_t n, int type, int root,
                     struct nccl_comm *, void *stream);
    int (*group_start)(void);
    int (*group_end)(void);
};

// path: NCCL_LIBRARY, or a file.
int nccl_open(const char *path, struct nccl *out, struct err *err);
// "CALL: TEXT OF THE RESULT (NUMBER)", and what the library says beyond. comm: NULL where there is none.
void nccl_say(const struct nccl *n, struct nccl_comm *comm, const char *call,
              int result, struct err *err);

#endif
