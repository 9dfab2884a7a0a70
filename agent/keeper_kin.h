// Everybody below this process: counted, ended and named, whatever sessions and groups
// they made. The PMIx server (pid `except`, 0: none) is left out.
//
// Needs PR_SET_CHILD_SUBREAPER: whoever loses its parent becomes a child of ours.
#ifndef MUSTER_AGENT_KEEPER_KIN_H
#define MUSTER_AGENT_KEEPER_KIN_H

#include <stddef.h>
#include <sys/types.h>

#include "common/strv.h"

// Living processes; zombies do not count. 0 is a proof only when the next wait(2) finds
// nothing to reap: a process can be born unseen during the scan, but an orphan of whom
// nobody above is seen had a parent that ended during the scan, and that one is reaped
// here.
size_t keeper_kin_count(pid_t except);
// SIGTERM, and SIGCONT so that stopped processes get it. Once: who is born meanwhile,
// or loses it between fork and exec, is left to SIGKILL.
void keeper_kin_terminate(pid_t except);
// SIGKILL. Returns how many there are, also those that may not be signalled.
size_t keeper_kin_kill(pid_t except);
// Adds "PID (comm, state)" for each; at most 16, then "and N more".
void keeper_kin_name(pid_t except, struct strv *names);

#endif
