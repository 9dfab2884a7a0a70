// The trained model as a file of llama2.c's format, version 0.
#ifndef MUSTER_KERNELS_TRAIN_EXPORT_H
#define MUSTER_KERNELS_TRAIN_EXPORT_H

#include "kernels/comm/comm.h"
#include "kernels/train/params.h"

// (all) Rank 0 writes it: beside it, fsync, rename. No rank holds more than a unit at once.
int export_model(const char *path, const struct units *units, struct params *params,
                 struct comm *comm, struct err *err);

#endif
