// Which neighbours of a text are joined next: a heap of what could be, stale entries included. Pure.
#ifndef MUSTER_KERNELS_MODEL_JOINS_H
#define MUSTER_KERNELS_MODEL_JOINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct join {
    float score;
    int32_t at;     // place in the text of the first of the two
    uint32_t stamp; // the owner's: is it still so?
};

// All-zero is empty.
struct joins {
    struct join *v; // owned
    size_t n, cap;
};

void joins_put(struct joins *h, struct join j);
// The one with the best score, the first in the text of equal ones. False: there is none.
bool joins_take(struct joins *h, struct join *out);
void joins_free(struct joins *h);

#endif
