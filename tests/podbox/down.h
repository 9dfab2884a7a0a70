// The end of a bed, whatever state it is in.
#ifndef MUSTER_PODBOX_DOWN_H
#define MUSTER_PODBOX_DOWN_H

#include "common/err.h"

// Kill every process of the bed and remove its files; namespaces and mounts go with the
// processes. Processes are found by cgroup and command line, not only by the records.
int down_bed(const char *name, struct err *err);
int down_all(struct err *err);

#endif
