// NCCL's names, and its errors as texts.
#include "kernels/nccl/nccl.h"

#include "common/dynlib.h"

static const struct dynlib_symbol symbols[] = {
    {"ncclGetUniqueId", offsetof(struct nccl, get_unique_id), true},
    {"ncclCommInitRank", offsetof(struct nccl, comm_init_rank), true},
    {"ncclCommDestroy", offsetof(struct nccl, comm_destroy), true},
    {"ncclCommGetAsyncError", offsetof(struct nccl, comm_async_error), true},
    {"ncclGetErrorString", offsetof(struct nccl, error_string), true},
    {"ncclGetLastError", offsetof(struct nccl, last_error), false},
    {"ncclAllReduce", offsetof(struct nccl, all_reduce), true},
    {"ncclAllGather", offsetof(struct nccl, all_gather), true},
    {"ncclReduceScatter", offsetof(struct nccl, reduce_scatter), true},
    {"ncclBroadcast", offsetof(struct nccl, broadcast), true},
    {"ncclGroupStart", offsetof(struct nccl, group_start), true},
    {"ncclGroupEnd", offsetof(struct nccl, group_end), true},
};

int nccl_open(const char *path, struct nccl *out, struct err *err)
{
    if (dynlib_open(path, symbols, sizeof symbols / sizeof *symbols, out, err) == 0)
        return 0;
    err_prefix(err, "no NCCL here");
    return -1;
}

void nccl_say(const struct nccl *n, struct nccl_comm *comm, const char *call,
              int result, struct err *err)
{
    const char *text = n->error_string(result);
    const char *more = n->last_error != NULL ? n->last_error(comm) : NULL;
    bool has_more = more != NULL && more[0] != '\0';
    err_set(err, "%s: %s (%d)%s%s", call, text != NULL ? text : "unknown error", result,
            has_more ? ": " : "", has_more ? more : "");
}
