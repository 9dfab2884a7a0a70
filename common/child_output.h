// What a child prints becomes lines of the log, bounded.
#ifndef MUSTER_COMMON_CHILD_OUTPUT_H
#define MUSTER_COMMON_CHILD_OUTPUT_H

#include "common/log.h"

struct event_base;
struct child_output;

enum { CHILD_LINE_MAX = 1024, CHILD_OUTPUT_MAX = 64 << 10 };

// Takes the reading end of a pipe over. Longer lines are cut into several; what comes after
// CHILD_OUTPUT_MAX bytes is read and dropped, which is said. `name` is borrowed.
struct child_output *child_output_create(struct event_base *base, int fd,
                                         struct log *log, enum log_level level,
                                         const char *name);
// Logs what is left in the pipe; does not wait for more. NULL-safe.
void child_output_end(struct child_output *o);

#endif
