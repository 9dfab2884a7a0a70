// What the curve of losses depends on: a run that goes on has to have it as the run before.
//
// Neither the number of ranks nor --zero is in it.
#ifndef MUSTER_KERNELS_TRAIN_RECIPE_H
#define MUSTER_KERNELS_TRAIN_RECIPE_H

#include <stdint.h>

#include "kernels/compute/compute.h"
#include "kernels/model/config.h"

struct recipe {
    struct model_config config; // vocab is TEXT_VOCAB
    uint64_t seed;
    uint64_t steps;    // until the rate has fallen to a tenth
    uint64_t batch;    // samples of a step, over all ranks
    uint64_t warmup;   // steps until the rate has risen to lr
    double lr, decay;  // AdamW's
    double clip;       // 0: none
    uint64_t text_len; // of the text, and its CRC
    uint64_t text_crc;
};

// As it stands in a checkpoint: every field as 64 bits.
enum { RECIPE_FIELDS = 15 };
void recipe_fields(const struct recipe *r, uint64_t fields[RECIPE_FIELDS]);
// Are these the fields? The error names the first that is not, as the option that sets it.
int recipe_check(const struct recipe *r, const uint64_t fields[RECIPE_FIELDS],
                 struct err *err);

// AdamW of step 1, 2, ...: lr rises over `warmup` steps, then falls to a tenth in a line.
struct compute_adamw recipe_adamw(const struct recipe *r, uint64_t step);

#endif
