// The files in /etc that kubelet and the container runtime write for a pod.
#ifndef MUSTER_PODBOX_ETC_H
#define MUSTER_PODBOX_ETC_H

#include "tests/podbox/bed.h"

char *etc_hosts(const struct bed *bed, const struct pod *pod);
char *etc_resolv(const struct bed *bed);
// All three into the pod's directory, in place: a bound file keeps its inode.
int etc_write(const struct bed *bed, const struct pod *pod, struct err *err);

#endif
