// "POD|all" on a command line: the bed, locked, and the pods that are meant.
#ifndef MUSTER_PODBOX_TARGET_H
#define MUSTER_PODBOX_TARGET_H

#include "tests/podbox/bed.h"

struct target {
    struct bed *bed;
    struct pod **pods; // into bed->pods
    size_t n;
    int lock;
};

// argv[1] and no more must name a pod or "all". target_leave after failure too.
int target_take(struct target *t, const char *bed, int argc, char **argv,
                struct err *err);
void target_leave(struct target *t);

#endif
