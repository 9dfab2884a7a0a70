// One outcome for all ranks.
#include "kernels/comm/agree.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"

enum { TEXT_MAX = 1024, RANKS_NAMED = 8 };

// One rank's outcome, as it goes to the others.
struct outcome {
    int32_t failed, has_kind;
    char text[TEXT_MAX];
};

static struct outcome own_outcome(int rc, const char *kind, const struct err *err)
{
    struct outcome o = {.failed = rc < 0};
    if (rc == 0)
        return o;
    o.has_kind = kind != NULL && err->kind != NULL && strcmp(err->kind, kind) == 0;
    strncpy(o.text, err_text(err), sizeof o.text - 1);
    return o;
}

int agree(struct comm *comm, int rc, const char *kind, struct err *err)
{
    size_t ranks = (size_t)comm_size(comm);
    struct outcome own = own_outcome(rc, kind, err);
    CLEANUP_FREE struct outcome *all = xcalloc(ranks, sizeof *all);
    comm_allgather(comm, all, &own, sizeof own);
    for (size_t r = 0; r < ranks; r++) {
        if (!all[r].failed)
            continue;
        err_set_kind(err, all[r].has_kind ? kind : NULL, 0, "%s", all[r].text);
        return -1;
    }
    return 0;
}

int agree_same(struct comm *comm, const void *own, size_t bytes, const char *what,
               struct err *err)
{
    size_t ranks = (size_t)comm_size(comm), others = 0;
    CLEANUP_FREE char *all = xcalloc(ranks, bytes);
    BUF_AUTO list = BUF_INIT;
    comm_allgather(comm, all, own, bytes);
    for (size_t r = 1; r < ranks; r++)
        if (memcmp(all, all + r * bytes, bytes) != 0 && ++others <= RANKS_NAMED)
            buf_printf(&list, "%s%zu", others > 1 ? ", " : "", r);
    if (others == 0)
        return 0;
    if (others > RANKS_NAMED)
        buf_printf(&list, " and %zu more", others - RANKS_NAMED);
    CLEANUP_FREE char *text = buf_steal_str(&list);
    err_set(err, "rank%s %s: another %s than rank 0's: all ranks need the same",
            others > 1 ? "s" : "", text, what);
    return -1;
}
