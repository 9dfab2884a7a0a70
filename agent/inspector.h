// The inspector: a process that runs checks of its machine, one after the other, and ends
// whatever they start.
//
// `musterd inspector` is a child of the agent for one INSPECT, and a subreaper. Messages
// (wire/muster.proto) on fd 3: the agent's INSPECT, and its own VERDICT, then it ends. No driver is
// touched but by its checks, each of which has a time limit. When a check has ended, or is late,
// everybody below the inspector is killed, and a VERDICT says that nobody is left; who outlives
// SIGKILL (state D) for INSPECTOR_KILL_MS is named in it, and no further check is begun. When fd 3
// closes, because the agent has gone or wants nothing any more, all are killed at once, too.
// States: inspector_fsm.h.
//
// A check gets the container's environment and MUSTER_MEMBER, MUSTER_CHECK_TIMEOUT (seconds) and,
// where it may take its time, MUSTER_CHECK_FULL=1, and what the order says; no stdin; an own
// session. Its stdout is kept up to INSPECTOR_OUTPUT_MAX bytes, and the last
// INSPECTOR_WORDS_MAX of its stderr; what it prints beyond that is read and dropped.
#ifndef MUSTER_AGENT_INSPECTOR_H
#define MUSTER_AGENT_INSPECTOR_H

enum {
    INSPECTOR_KILL_MS = 5000, // from the first SIGKILL until who is left is given up
    INSPECTOR_OUTPUT_MAX = 64 << 10,
    INSPECTOR_WORDS_MAX = 1000,
    INSPECTOR_CHECKS_MAX = 16, // of one INSPECT
};

// argv: "inspector" [--debug].
int inspector_main(int argc, char **argv);

#endif
