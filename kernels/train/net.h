// One sample through the model, forward and backward: its loss, and its gradient into params.
#ifndef MUSTER_KERNELS_TRAIN_NET_H
#define MUSTER_KERNELS_TRAIN_NET_H

#include "kernels/compute/compute.h"
#include "kernels/train/params.h"

struct net;

// Buffers for samples of config's seq_len. units and compute are borrowed.
struct net *net_create(const struct units *units, const struct compute *compute);
void net_destroy(struct net *n); // NULL-safe

// (all, as params_add()) tokens: seq_len + 1 of them; each of the first seq_len predicts the one
// behind it. *loss is the mean of -ln p. counts: as params_add() has it.
int net_sample(struct net *n, struct params *params, const int32_t *tokens, bool counts,
               double *loss, struct err *err);

#endif
