// What a hook prints becomes lines of the log, bounded.
#ifndef MUSTER_SIDECAR_HOOK_OUTPUT_H
#define MUSTER_SIDECAR_HOOK_OUTPUT_H

struct event_base;
struct hook_output;
struct log;

enum { HOOK_LINE_MAX = 1024, HOOK_OUTPUT_MAX = 64 << 10 };

// Takes the reading end of a pipe over. Longer lines are cut into several; what comes after
// HOOK_OUTPUT_MAX bytes is read and dropped, which is said. `name` is borrowed.
struct hook_output *hook_output_create(struct event_base *base, int fd, struct log *log,
                                       const char *name);
// Logs what is left in the pipe; does not wait for more. NULL-safe.
void hook_output_end(struct hook_output *o);

#endif
