// What one core has to show: a march, copies and products in a slice of memory.
#ifndef MUSTER_KERNELS_CHECK_CORE_H
#define MUSTER_KERNELS_CHECK_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/check/march.h"
#include "kernels/check/product.h"
#include "kernels/check/supervise.h"

enum { CORE_COPIES = 3, CORE_SLICE_MIN = 4 << 20 }; // bytes

// A core, its share of the work, and what came of it.
struct core {
    int number;      // as the kernel counts
    uint64_t *words; // page-aligned, borrowed
    size_t n;        // CORE_SLICE_MIN at least, a multiple of 2 * MARCH_BLOCK words
    uint64_t seed;
    unsigned rounds; // products of each kind
    uint64_t until_ms;
    struct stages *stages;
    size_t slot;

    char unfinished[64]; // what the time was over in; "": all was done
    struct march_wrong march, copy;
    struct product_wrong product[PRODUCT_KINDS];
    unsigned rounds_done[PRODUCT_KINDS];
    double copy_gb_s;  // the best of CORE_COPIES; GB written, by the core's own time
    double march_gb_s; // read and written, so, too
};

// On the core that the thread is bound to.
void core_run(struct core *c);

#endif
