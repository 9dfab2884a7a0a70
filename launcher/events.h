// The event log (--events FILE): every state change of the job as one JSON line.
//
// Each line: {"time": wall clock (RFC 3339, for people), "t": seconds since the start
// (monotonic), "event": name, ...}. Lines are written whole and at once.
#ifndef MUSTER_LAUNCHER_EVENTS_H
#define MUSTER_LAUNCHER_EVENTS_H

#include <jansson.h>
#include <stdbool.h>

#include "common/err.h"

struct log;
struct events;

// Makes the file, or truncates it unless go_on; "-" is stderr. path NULL: a log that drops everything.
// `log` (borrowed) is told when it cannot be written any more.
// go_on: lines that are there stay, as they are of the same job.
struct events *events_open(const char *path, bool go_on, struct log *log,
                           struct err *err);
void events_close(struct events *e);
// Takes over `fields` (an object or NULL).
void events_write(struct events *e, const char *name, json_t *fields);

#endif
