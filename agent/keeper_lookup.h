// Where programs and working directories are in this pod. The file systems that hold them may
// hang (NFS, FUSE), and whoever asks hangs with them: the keeper, of one attempt, and never the
// agent, which has other jobs and a launcher that listens for its heartbeats.
#ifndef MUSTER_AGENT_KEEPER_LOOKUP_H
#define MUSTER_AGENT_KEEPER_LOOKUP_H

#include "common/err.h"
#include "common/strv.h"
#include "wire/muster.pb-c.h"

// 0 when the directory is there and can be entered; -1 with err (WDIR, 125).
int keeper_lookup_wdir(const char *dir, struct err *err);
// Adds the path of each program. -1 with err (as of proc_resolve, or WDIR) when one is missing.
int keeper_lookup(const Muster__Lookup *m, struct strv *paths, struct err *err);

#endif
