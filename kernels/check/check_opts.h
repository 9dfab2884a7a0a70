// Options that all checks have: deadline and thresholds.
#ifndef MUSTER_KERNELS_CHECK_CHECK_OPTS_H
#define MUSTER_KERNELS_CHECK_CHECK_OPTS_H

#include <argp.h>
#include <stdint.h>

#include "common/thresholds.h"

struct check_opts {
    uint32_t deadline_ms;
    struct thresholds thresholds;
};

enum { CHECK_DEADLINE_MS = 8000, CHECK_DEADLINE_MIN_MS = 100 };

// argp_parse() for a check, with these options beside its own; a wrong one ends it with exit
// code 2, could not run. `argp` has no children, and its parser names a struct check_opts as
// its child's input.
void check_opts_parse(const struct argp *argp, int argc, char **argv, void *input);

#endif
