// The bed's network: a bridge in the fabric's namespace, a veth pair for each pod.
#ifndef MUSTER_PODBOX_NET_H
#define MUSTER_PODBOX_NET_H

#include "tests/podbox/bed.h"

// Bridge, gateway and DNS address, in the namespace of bed->fabric.
int net_fabric_up(const struct bed *bed, struct err *err);
// The cables of pods[first..first+n): one end in the fabric, eth0 in the sandbox.
int net_plug(const struct bed *bed, size_t first, size_t n, struct err *err);
int net_unplug(const struct bed *bed, const struct pod *pod, struct err *err);
// Silent loss: the ports of all pods that are `cut` drop everything, both ways, while
// their links stay up. Replaces what was applied before.
int net_apply_cuts(const struct bed *bed, struct err *err);
// In the pod's own namespace: lo, eth0, address, default route.
int net_configure(const struct bed *bed, const struct pod *pod, struct err *err);

#endif
