// Where the members come from, for machines: in the event log and in roll --json.
#ifndef MUSTER_LAUNCHER_SOURCE_JSON_H
#define MUSTER_LAUNCHER_SOURCE_JSON_H

#include <jansson.h>

#include "hostfile/source_opts.h"

// {"text": "pods ...", "members": how many are wanted or null, "system": "LeaderWorkerSet"
// or null (an option named the source), "why": or null, "index": of this pod or null}
json_t *source_json(const struct source_opts *from);

#endif
