// Checkpoints of all ranks in one shared directory.
//
//   DIR/step-00000040-of-4/shard-0 ... shard-3    a rank each (shard.h)
//   DIR/latest                                    the name of the newest whole one
//
// `latest` is written when all shards are on the disk, so that what it names was whole. A
// checkpoint that is damaged later is told, and the one before it is taken.
#ifndef MUSTER_KERNELS_TRAIN_CHECKPOINT_H
#define MUSTER_KERNELS_TRAIN_CHECKPOINT_H

#include "kernels/train/params.h"
#include "kernels/train/recipe.h"

// All borrowed.
struct checkpoint {
    const char *dir; // exists
    int keep;        // checkpoints that stay, at least 1
    const struct recipe *recipe;
    const struct units *units;
    struct params *params;
    struct comm *comm;
};

// (all) Writes one, moves `latest`, and removes old ones.
int checkpoint_save(const struct checkpoint *c, uint64_t step, struct err *err);

// (all) The newest one that is whole, whatever number of ranks wrote it. Returns 1 with *step;
// 0: there is none yet; -1: none of them is good, or they are another run's. warn is told, on rank
// 0, of each that is damaged.
int checkpoint_load(const struct checkpoint *c, uint64_t *step,
                    void (*warn)(void *arg, const char *text), void *arg,
                    struct err *err);

#endif
