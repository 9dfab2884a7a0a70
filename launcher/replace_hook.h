// Runs a program for each member that has to be replaced: --replace-hook.
//
// One at a time (common/child.h), in the order of the losses. It hears of the member in its
// environment: MUSTER_MEMBER (as the source names it), MUSTER_ADDRESS, MUSTER_REASON (one
// line), MUSTER_JOB, MUSTER_ATTEMPT. Nothing that it does ends the job; what it prints, and
// that it failed, is logged.
#ifndef MUSTER_LAUNCHER_REPLACE_HOOK_H
#define MUSTER_LAUNCHER_REPLACE_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

enum { REPLACE_HOOK_MS = 60000 }; // so long it may run

struct event_base;
struct events;
struct log;
struct replace_hook;

struct replace_hook_conf {
    struct event_base *base;
    struct log *log;
    struct events *events; // borrowed
    const char *program;   // borrowed; a path, or a name that is searched in $PATH
    const char *job;       // its key; borrowed
    // Asked right before the program is started: is it still gone?
    bool (*is_wanted)(void *arg, uint32_t member);
    void *arg;
};

// Finds the program. NULL with err: it is not there.
struct replace_hook *replace_hook_create(const struct replace_hook_conf *conf,
                                         struct err *err);
void replace_hook_destroy(struct replace_hook *h); // NULL-safe; kills what runs

// A member is lost.
struct replace_hook_loss {
    uint32_t member;
    const char *name, *address, *reason; // borrowed
    uint32_t attempt;                    // in which it was lost
};
void replace_hook_tell(struct replace_hook *h, const struct replace_hook_loss *loss);

#endif
