// PMI-1's spawn command as a SPAWN_REQUEST. Pure.
//
//   nprocs, execname, argcnt, arg1 ...       of each part: one program
//   info_num, info_key_0, info_val_0 ...     MPI_Info: wdir and host are heard, others
//                                            are hints that may be passed over
//   preput_num, preput_key_0, preput_val_0 ...  what the children find in their
//                                            key-value space (where their parent listens)
#ifndef MUSTER_AGENT_PMI1_SPAWN_H
#define MUSTER_AGENT_PMI1_SPAWN_H

#include "agent/pmi1_parse.h"
#include "common/err.h"
#include "wire/muster.pb-c.h"

// Without id and parent, which are the caller's to set. It owns what it points to: free
// with msg_free(). NULL with err when the command makes no sense.
Muster__SpawnRequest *pmi1_spawn_request(const struct pmi1_cmd *cmd, struct err *err);

#endif
