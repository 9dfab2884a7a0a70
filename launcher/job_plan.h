// The messages that start an attempt, built from group and map. Pure.
#ifndef MUSTER_LAUNCHER_JOB_PLAN_H
#define MUSTER_LAUNCHER_JOB_PLAN_H

#include "launcher/group.h"
#include "launcher/map.h"
#include "launcher/opts.h"
#include "wire/muster.pb-c.h"

// Both own all that they point to: free with msg_free().
Muster__Attach *job_plan_attach(const struct group *g, const struct opts *o,
                                const char *job_key);
Muster__Prepare *job_plan_prepare(const struct group *g, const struct map *map,
                                  const struct opts *o, const char *job_key,
                                  const char *nspace);

#endif
