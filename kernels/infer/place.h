// Where a rank stands: which tensor-parallel rank of which pipeline stage. Pure.
#ifndef MUSTER_KERNELS_INFER_PLACE_H
#define MUSTER_KERNELS_INFER_PLACE_H

#include <stddef.h>

#include "common/err.h"

struct place {
    int tp, pp;           // this rank's
    int tp_size, pp_size; // >= 1
};

// Sizes that the user asks for; 0: not said.
struct place_wish {
    int tp_size, pp_size;
};

// What `muster run --grid` tells (TP_RANK, TP_SIZE, PP_RANK, PP_SIZE), else as the user says,
// tensor-parallel ranks side by side; all ranks tensor-parallel where nobody says anything.
// getenv_fn is getenv(3).
int place_find(int rank, int size, const struct place_wish *wish,
               char *(*getenv_fn)(const char *name), struct place *out,
               struct err *err);

// The i-th of `parts` nearly equal parts of n things: from `at` on, `n` of them.
struct place_range {
    size_t at, n;
};
struct place_range place_part(size_t n, int parts, int i);
// The i-th of `stages` stages of n layers, n >= stages, where the last one bears what `extra` layers
// (or a part of one) cost beside its own: so that the slowest stage is as fast as can be.
struct place_range place_stage(size_t n, double extra, int stages, int i);
size_t place_part_most(size_t n, int parts); // the largest part

#endif
