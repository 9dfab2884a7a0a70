// Save and load a checkpoint together with all other ranks.
#include "kernels/train/checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "kernels/comm/agree.h"
#include "kernels/train/ckptdir.h"
#include "kernels/train/shard.h"
#include "kernels/train/wholefile.h"

// ---- save -------------------------------------------------------------------------

static int make_folder(const char *dir, const struct ckpt_name *n, struct err *err)
{
    CLEANUP_FREE char *name = ckpt_name_text(n);
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
    if ((mkdir(path, 0755) == 0 || errno == EEXIST) && wholefile_sync_folder(path) == 0)
        return 0;
    err_set_errno(err, errno, "%s cannot be made", path);
    return -1;
}

static int save_own(const struct checkpoint *c, const struct ckpt_name *n,
                    struct err *err)
{
    struct shard s = {
        .rank = (uint32_t)comm_rank(c->comm), .ranks = n->ranks, .step = n->step};
    CLEANUP_FREE char *path = ckpt_shard_path(c->dir, n, s.rank);
    if (make_folder(c->dir, n, err) < 0)
        return -1;
    return shard_write(path, &s, c->recipe, c->units, c->params, err);
}

// Does rank 0 see all shards? Then they are in one directory.
static int check_shared(const struct checkpoint *c, const struct ckpt_name *n,
                        struct err *err)
{
    uint32_t r = ckptdir_missing(c->dir, n);
    if (r == n->ranks)
        return 0;
    CLEANUP_FREE char *path = ckpt_shard_path(c->dir, n, r);
    err_set(err,
            "%s: rank %u has written it, and rank 0 does not see it: --dir has to be a "
            "directory that all ranks share",
            path, r);
    return -1;
}

// The newest `keep` with all their shards stay; of one step that was written by several numbers of
// ranks (the older ones may be damaged: that is why it was written again) the first in the list.
static int remove_old(const struct checkpoint *c, struct err *err)
{
    CLEANUP_FREE struct ckpt_name *names = NULL;
    size_t n = 0;
    const struct ckpt_name *last = NULL; // that is kept
    int kept = 0;
    if (ckptdir_list(c->dir, &names, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        bool again = last != NULL && names[i].step == last->step;
        if (again || kept == c->keep) {
            ckptdir_remove(c->dir, &names[i]);
        } else if (ckptdir_missing(c->dir, &names[i]) == names[i].ranks) {
            last = &names[i];
            kept++;
        }
    }
    return 0;
}

int checkpoint_save(const struct checkpoint *c, uint64_t step, struct err *err)
{
    struct ckpt_name n = {.step = step, .ranks = (uint32_t)comm_size(c->comm)};
    if (agree(c->comm, save_own(c, &n, err), NULL, err) < 0)
        return -1;
    int rc = 0;
    if (comm_rank(c->comm) == 0) {
        rc = check_shared(c, &n, err);
        rc = rc == 0 ? ckptdir_commit(c->dir, &n, err) : rc;
        rc = rc == 0 ? remove_old(c, err) : rc;
    }
    return agree(c->comm, rc, NULL, err);
}

// ---- load -------------------------------------------------------------------------

static int load_one(const struct checkpoint *c, const struct ckpt_name *n,
                    struct err *err)
{
    for (uint32_t r = 0; r < n->ranks; r++) {
        struct shard s = {.rank = r, .ranks = n->ranks, .step = n->step};
        CLEANUP_FREE char *path = ckpt_shard_path(c->dir, n, r);
        if (shard_read(path, &s, c->recipe, c->units, c->params, err) < 0)
            return -1;
    }
    return 0;
}

// Rank 0's list, on all ranks: another one's view of the directory may be older.
static int shared_list(const struct checkpoint *c, struct ckpt_name **names, size_t *n,
                       struct err *err)
{
    bool first = comm_rank(c->comm) == 0;
    *names = NULL;
    *n = 0;
    int rc = first ? ckptdir_list(c->dir, names, n, err) : 0;
    if (agree(c->comm, rc, NULL, err) < 0)
        return -1;
    comm_broadcast(c->comm, n, sizeof *n, 0);
    if (!first)
        *names = xcalloc(*n + 1, sizeof **names);
    if (*n > 0)
        comm_broadcast(c->comm, *names, *n * sizeof **names, 0);
    return 0;
}

int checkpoint_load(const struct checkpoint *c, uint64_t *step,
                    void (*warn)(void *arg, const char *text), void *arg,
                    struct err *err)
{
    CLEANUP_FREE struct ckpt_name *names = NULL;
    size_t n = 0;
    if (shared_list(c, &names, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (agree(c->comm, load_one(c, &names[i], err), SHARD_RECIPE, err) == 0) {
            *step = names[i].step;
            return 1;
        }
        if (err->kind != NULL)
            return -1;
        if (comm_rank(c->comm) == 0)
            warn(arg, err_text(err));
    }
    if (n == 0)
        return 0;
    err_prefix(err,
               "%s: none of its %zu checkpoints is good (remove the directory to "
               "begin anew); the last that was tried",
               c->dir, n);
    return -1;
}
