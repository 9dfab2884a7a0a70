// Runs a program after the files were written: --on-change.
//
// It gets the difference since it was started last, on stdin as JSON and as counts in the
// environment (sidecar/change.h); what it prints is logged line by line. One runs at a time
// (common/child.h): what changes meanwhile is one difference for the next.
// Nothing that it does ends the sidecar. It ends with the sidecar.
#ifndef MUSTER_SIDECAR_HOOK_H
#define MUSTER_SIDECAR_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct event_base;
struct hook;
struct log;
struct members;

struct hook_conf {
    struct event_base *base;
    struct log *log;
    const char *program; // borrowed; a path, or a name that is searched in $PATH
    uint32_t limit_ms;   // from its start to SIGTERM
};

// Finds the program; takes SIGCHLD over, and reaps whatever ends (the sidecar may be pid 1).
struct hook *hook_create(const struct hook_conf *conf, struct err *err);
void hook_destroy(struct hook *h); // NULL-safe; kills what runs, and does not wait

// What the files say now: the program is started if it was not told yet, now or when the one
// that runs has ended.
void hook_tell(struct hook *h, const struct members *members, uint64_t generation);

struct hook_status {
    bool running;
    uint64_t runs,
        failures;        // a failure: not started, an exit code but 0, took too long
    uint64_t generation; // that was told last; 0: none
};
void hook_status(const struct hook *h, struct hook_status *out);

#endif
