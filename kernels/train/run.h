// A training run, from the last checkpoint to its last step.
#ifndef MUSTER_KERNELS_TRAIN_RUN_H
#define MUSTER_KERNELS_TRAIN_RUN_H

#include "kernels/comm/comm.h"
#include "kernels/train/opts.h"

// (all) Rank 0 tells on stdout what happens. An error is the same one on all ranks.
int run_train(const struct train_opts *o, struct comm *comm, struct err *err);

#endif
