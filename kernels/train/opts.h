// Options of muster-train.
#ifndef MUSTER_KERNELS_TRAIN_OPTS_H
#define MUSTER_KERNELS_TRAIN_OPTS_H

#include "kernels/comm/gpu_way.h"
#include "kernels/train/recipe.h"

struct train_opts {
    const char *dir, *text;
    const char *export_path, *plot; // NULL: none
    struct recipe recipe;           // without the text's part
    enum compute_kind compute;
    enum gpu_way_kind gpu_way;
    int zero, keep;
    uint64_t every, until; // until: the last step of this run, at most recipe.steps
};

// Prints help or one error and exits (125) where it must.
void train_opts_parse(struct train_opts *o, int argc, char **argv);

#endif
