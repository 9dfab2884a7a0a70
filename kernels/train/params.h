// Parameters, gradients and the optimizer's moments of a rank, as ZeRO shards them.
//
//   zero  parameters  gradient sums  moments     exchanged
//   0     all         all            all         sums once a step
//   1     all         all            own shard   the same, and parameters once a step
//   2     all         own shard      own shard   sums after each sample; parameters once a step
//   3     own shard   own shard      own shard   the same, and a unit's parameters at each use
//
// The result is the same bits for every zero and number of ranks: gradients of a sample become
// int64 (compute.h, fixed_add) before anything is added, and the norm is added block by block, in
// the order of units. Calls marked (all) are collective.
//
// What lasts is in the memory that ranks exchange (comm_on_gpu()), and the optimizer works there. Where
// that is the host's, a GPU's memory has to hold one copy of the parameters (of one layer under
// zero 3) and one unit's gradient; with NCCL it has all that the rank holds.
#ifndef MUSTER_KERNELS_TRAIN_PARAMS_H
#define MUSTER_KERNELS_TRAIN_PARAMS_H

#include "kernels/comm/comm.h"
#include "kernels/compute/compute.h"
#include "kernels/train/units.h"

enum { ZERO_MOST = 3 };

struct params;

// All borrowed. comm: the GPU's, where the compute back end is that GPU, or the host's.
struct params *params_create(const struct units *units, const struct compute *compute,
                             struct comm *comm, int zero);
void params_destroy(struct params *p); // NULL-safe
// Random, by the index of each parameter alone.
void params_init(struct params *p, uint64_t seed);

// (all) The unit's parameters, until the next call of one of these: the host's,
const float *params_values(struct params *p, size_t unit);
// (all) and in the back end's memory.
const float *params_get(struct params *p, size_t unit);
// Zeros, to put a sample's gradient in; one a kind, in the back end's memory.
float *params_grad(struct params *p, size_t unit);
// (all) Adds it up, or, where it does not count, takes part with nothing. Error: it is too large
// or no number; the exchange has taken place then, too.
int params_add(struct params *p, size_t unit, bool counts, struct err *err);

struct params_step {
    double samples; // the sums are divided by it
    double clip;    // largest norm of the gradient; 0: any
    struct compute_adamw adamw;
};
// (all) One step; the sums are zero again. Returns the norm before it was clipped.
double params_step(struct params *p, const struct params_step *how);

// ---- for checkpoints

enum params_kind { PARAMS_VALUE, PARAMS_M, PARAMS_V, PARAMS_KINDS };

// This rank's slice (unit_slice_of()), in the host's memory until the next call of one of these.
const float *params_slice(const struct params *p, size_t unit, enum params_kind kind);
// Floats from `at` of the unit on: what of them this rank holds is replaced.
void params_put(struct params *p, size_t unit, enum params_kind kind, size_t at,
                const float *from, size_t n);

#endif
