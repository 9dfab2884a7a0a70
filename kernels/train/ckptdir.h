// Names of checkpoints in their directory.
#ifndef MUSTER_KERNELS_TRAIN_CKPTDIR_H
#define MUSTER_KERNELS_TRAIN_CKPTDIR_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct ckpt_name {
    uint64_t step;
    uint32_t ranks; // that wrote it
};

enum { CKPT_RANKS_MAX = 1 << 16 };

// "step-00000040-of-4". The caller frees.
char *ckpt_name_text(const struct ckpt_name *n);
// Nothing but such a name. 0 or -1.
int ckpt_name_parse(const char *text, struct ckpt_name *n);
char *ckpt_shard_path(const char *dir, const struct ckpt_name *n, uint32_t rank);

// Those in dir that `latest` does not exclude, the one that it names first, then by step from
// the newest: 0 of them where there is no `latest`. Caller frees *names.
int ckptdir_list(const char *dir, struct ckpt_name **names, size_t *n, struct err *err);
// Writes `latest`.
int ckptdir_commit(const char *dir, const struct ckpt_name *n, struct err *err);
// The first rank whose shard is not there; n->ranks: all are.
uint32_t ckptdir_missing(const char *dir, const struct ckpt_name *n);
// Removes a checkpoint and all else in its folder, as far as that is possible.
void ckptdir_remove(const char *dir, const struct ckpt_name *n);

#endif
