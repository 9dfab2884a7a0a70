// A file as read-only memory: ranks of one machine share its pages.
//
// Whoever makes such a file replaces it by rename: one that is cut while it is mapped kills
// its readers with SIGBUS.
#ifndef MUSTER_KERNELS_MODEL_MAPPED_H
#define MUSTER_KERNELS_MODEL_MAPPED_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct mapped {
    const uint8_t *data;
    size_t n;
};

// A regular file that is not empty; errors name it.
int mapped_open(const char *path, struct mapped *m, struct err *err);
void mapped_close(struct mapped *m); // of an all-zero one: nothing

#endif
