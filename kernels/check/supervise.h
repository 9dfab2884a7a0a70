// A check runs in a child, and its parent has the last word: what a driver or a core makes
// of the child, there is one verdict before the deadline.
//
//   RUNNING --whole line--> SAID        the child's own verdict
//      +------end, no line-> CRASHED    its signal or exit code is the reason
//      +------deadline-----> HUNG       a failure: where it was is the reason; it is killed,
//                                       not awaited
// The child ends with its parent, and is the first that the kernel ends when memory is out.
#ifndef MUSTER_KERNELS_CHECK_SUPERVISE_H
#define MUSTER_KERNELS_CHECK_SUPERVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/check/finding.h"

struct stages; // what each part of the work does now, readable by the parent

struct supervise_conf {
    const char *check;    // the name in the output
    uint32_t deadline_ms; // from the call to the last word
    bool
        crash_fails; // SIGBUS, SIGSEGV, SIGILL and SIGFPE are the machine's fault, else the
                     // check could not run
};

// What the work is given.
struct supervised {
    struct finding *finding;
    struct stages *stages;
    uint64_t
        until_ms; // CLOCK_MONOTONIC: it should be done by then, and say what it has
};

enum { STAGES_MAX = 1024 };

// Part `slot` of the work (they can be threads) is there now; "" when it is done. Slots
// from STAGES_MAX on are not kept.
void stages_set(struct stages *s, size_t slot, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Runs the work in a child and prints its finding to stdout. Returns the exit code.
int supervise(const struct supervise_conf *conf,
              void (*work)(void *arg, const struct supervised *s), void *arg);

#endif
