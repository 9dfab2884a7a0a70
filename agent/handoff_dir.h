// The agent's side of the run directory (roll_json.h): roll.json, roll.beat, and what the
// sidecar answers.
#ifndef MUSTER_AGENT_HANDOFF_DIR_H
#define MUSTER_AGENT_HANDOFF_DIR_H

#include <stdbool.h>

#include "hostfile/roll.h"

struct handoff_dir;
struct log;

// Nothing is opened or written yet.
struct handoff_dir *handoff_dir_create(const char *path, uint32_t lease_ms,
                                       struct log *log);
void handoff_dir_destroy(struct handoff_dir *d); // NULL-safe; as handoff_dir_release()

// The roll, under a new lease when there was none. What fails is logged once, and tried
// again with the next beat.
void handoff_dir_put(struct handoff_dir *d, const struct roll *r);
// Renews the lease, where there is one.
void handoff_dir_beat(struct handoff_dir *d);
// The lease is over, and its files go.
void handoff_dir_release(struct handoff_dir *d);
// Why the newest roll is not there; NULL: it is. OUT_NO_DIRECTORY: the pod shares none.
const struct err *handoff_dir_failure(const struct handoff_dir *d);

// Is a sidecar there that reads it?
bool handoff_dir_is_read(const struct handoff_dir *d);
// 1: the sidecar has applied this roll or a later one of its job; 0: no answer yet; -1
// with err: it could not.
int handoff_dir_answer(const struct handoff_dir *d, const struct roll *r,
                       struct err *err);

#endif
