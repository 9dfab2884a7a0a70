// A job's status (job_status.c) as text for people. Pure.
#ifndef MUSTER_LAUNCHER_STATUS_TEXT_H
#define MUSTER_LAUNCHER_STATUS_TEXT_H

#include "common/buf.h"
#include "common/err.h"

// -1 with err when it is no status: another version's, as a rule. What came over the wire
// is made safe for a terminal.
int status_text(const char *json, struct buf *out, struct err *err);

#endif
