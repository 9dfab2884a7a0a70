// One cgroup a pod: to freeze it, and to find every process of a bed.
//
// Version 2 is taken where it is mounted (also beside version 1), else version 1's
// freezer; without either a pod is frozen by SIGSTOP.
#ifndef MUSTER_PODBOX_CGROUP_H
#define MUSTER_PODBOX_CGROUP_H

#include "tests/podbox/bed.h"

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

// Which kind this machine gives us.
enum cgroup_kind cgroup_kind(void);
const char *cgroup_kind_text(enum cgroup_kind kind);
// The pod's directory (pod NULL: the bed's); NULL where there are none. Caller frees.
char *cgroup_dir(const struct bed *bed, const struct pod *pod);
int cgroup_make(const struct bed *bed, const struct pod *pod, struct err *err);
// Move the calling process. Where there are no cgroups: nothing.
int cgroup_join(const char *dir, struct err *err);
// Returns when the kernel says so, at most 5 s later.
int cgroup_freeze(const char *dir, enum cgroup_kind kind, bool frozen, struct err *err);
// Thaw everything, kill every process, remove the directories of the bed.
int cgroup_end(const struct bed *bed, struct err *err);

#endif
