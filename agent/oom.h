// Did the kernel kill somebody of this container for want of memory?
//
// Reads the cgroup's count of OOM kills: memory.events (cgroup v2) or memory.oom_control
// (v1), of the cgroup that this process is in as /proc/self/cgroup names it, or of the root
// of what is mounted where a container sees only its own. Sources: kernel
// Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst.
#ifndef MUSTER_AGENT_OOM_H
#define MUSTER_AGENT_OOM_H

#include <stdint.h>

// OOM kills so far, -1 where nothing tells. `root` is "" in production; tests give another
// file system tree.
int64_t oom_kills(const char *root);
// Pure: the number behind "oom_kill " at the start of a line, -1 when there is none.
int64_t oom_parse(const char *text);

#endif
