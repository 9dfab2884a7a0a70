// One rank's part of a checkpoint: a file of its slices of every unit.
//
// Little-endian: "MUSTERCK", uint32 version, rank, ranks, 0, uint64 step, uint64 floats, the
// recipe's fields (uint64 each), then for each unit the slice's values, m and v (float32), then the
// CRC-32 of all before it (uint32).
#ifndef MUSTER_KERNELS_TRAIN_SHARD_H
#define MUSTER_KERNELS_TRAIN_SHARD_H

#include "kernels/train/params.h"
#include "kernels/train/recipe.h"

struct shard {
    uint32_t rank, ranks;
    uint64_t step;
};

// Writes `path` whole: beside it, fsync, rename, fsync of the directory.
int shard_write(const char *path, const struct shard *s, const struct recipe *recipe,
                const struct units *units, const struct params *params,
                struct err *err);
// Reads the file, checks everything, then puts it into params. err->kind is SHARD_RECIPE where the
// file is whole, but of another run. Nothing is put on an error.
int shard_read(const char *path, const struct shard *s, const struct recipe *recipe,
               const struct units *units, struct params *params, struct err *err);

#define SHARD_RECIPE "SHARD_RECIPE"

#endif
