// The keeper of one attempt in one pod: a subreaper that holds the PMIx server and the
// ranks, and ends all of them when it is told to or when its agent goes.
//
// Messages (wire/muster.proto) on fd 3, from the agent:
//   SPAWN   Spawn: start the ranks of one world; answered by STARTED, or by FAILED when
//           one cannot be started. After a first SPAWN that fails nobody is left (those
//           that ran are killed first) and none is taken any more; a further one that
//           fails leaves the ranks of earlier ones alone.
//   SIGNAL  Signal: to the process group of each rank that runs.
//   STOP    Stop: for the process groups of ranks pre_stop_signal, where it is set, and
//           for pre_stop_ms, or until these have ended, nothing more; then SIGTERM, after
//           grace_ms SIGKILL, for everybody below the keeper but the PMIx server. Another
//           STOP can end the pre-stop and shorten the grace. Answered by STOPPED.
//   CREDIT  Credit: the agent took so many bytes of a stream.
//   PING    answered by PING while the PMIx server is to live: the keeper does, and has not
//           ended it.
//   INPUT   Output: for the stdin of a rank, or of all (rank 0xffffffff) that have one;
//           answered by CREDIT (stream 0) as it is taken.
// To the agent:
//   STARTED Started; FAILED Failed
//   EXITED  Exited: a rank's process was reaped. Sent at once, its output may follow.
//   OUTPUT  Output: at most FRAME_BULK_MAX bytes and never beyond the stream's credit;
//           the last one of each stream has eof.
//   STOPPED Stopped: nobody is left below the keeper but who is named in `leftovers`. All
//           EXITED came before. All OUTPUT too, unless a stream had no credit for
//           KEEPER_DRAIN_MS: then the rest still follows as credit comes, until eof.
// job, term and attempt of what is sent are those of the last frame that came.
//
// What a rank that ended leaves behind runs on until STOP. The PMIx server's end is not
// reported: its socket tells the agent. When nobody else is left it gets SIGTERM,
// and soon SIGKILL. When fd 3 closes, everybody is killed at once and the program ends. States:
// see keeper_state.h.
#ifndef MUSTER_AGENT_KEEPER_H
#define MUSTER_AGENT_KEEPER_H

#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

enum {
    KEEPER_KILL_MS = 5000, // from the first SIGKILL until who is left is given up
    KEEPER_DRAIN_MS =
        1000, // from nobody left until STOPPED goes without all output, or
              // with the PMIx server among the leftovers
};

struct event_base;
struct keeper;
struct log;

// Takes over `agent_fd`. The process has to be a subreaper, and has no other children.
// SIGCHLD is caught in the loop, which is broken when all is over.
struct keeper *keeper_create(struct event_base *base, int agent_fd, struct log *log);
// Starts the PMIx server with `fd` (taken over) as its fd 3.
int keeper_start_pmixd(struct keeper *k, const char *path, int fd, struct err *err);
// See keeper_ranks_pmi_from.
void keeper_pmi_from(struct keeper *k, int sock);
void keeper_destroy(struct keeper *k); // ends no process

#endif
