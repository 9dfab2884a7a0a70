// A program that runs beside the loop: one at a time, bounded, what it prints is logged.
//
// It has a process group of its own, and ends with this program. States:
//   IDLE      nothing runs
//   RUNNING   one runs
//   TERM      it took too long: its group has SIGTERM
//   KILLED    and SIGKILL; it is waited for (a process in D state for ever: no other starts)
// What is left in its group when it ends is killed.
#ifndef MUSTER_COMMON_CHILD_H
#define MUSTER_COMMON_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/log.h"

struct child;
struct event_base;

struct child_conf {
    struct event_base *base;
    struct log *log;
    const char *role;     // for the log: "on-change"; borrowed
    const char *program;  // borrowed; a path, or a name that is searched in $PATH
    uint32_t limit_ms;    // from its start to SIGTERM; SIGKILL comes 5 s later
    enum log_level level; // of what it prints
    bool reaps;           // this program may be pid 1: whatever ends is reaped
    // It has ended, and the next may be started. well: exit code 0 in time; how: else, for
    // texts.
    void (*ended)(void *arg, bool well, const char *how);
    void *arg;
};

// Finds the program; takes SIGCHLD over. NULL with err: it is not there.
struct child *child_create(const struct child_conf *conf, struct err *err);
void child_destroy(struct child *c); // NULL-safe; kills what runs, and does not wait
// Starts it; nothing may run. in: its stdin, borrowed, -1: /dev/null. env: what is added to
// this program's own environment, NULL at its end.
int child_start(struct child *c, int in, char *const *env, struct err *err);
bool child_is_idle(const struct child *c);

#endif
