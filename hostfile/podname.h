// What this pod is called in DNS, from what kubelet tells it. Pure.
#ifndef MUSTER_HOSTFILE_PODNAME_H
#define MUSTER_HOSTFILE_PODNAME_H

#include <stddef.h>

struct podname {
    char *host; // "train-2"
    char
        *service; // of its peers' names: "train", or "train.ns.svc.cluster.local" where
                  // resolv.conf does not search there; NULL: it has no name in DNS
};

// kubelet (pkg/kubelet/kubelet_pods.go) writes a pod that has a subdomain into its
// /etc/hosts as "ADDRESS HOST.SUBDOMAIN.NAMESPACE.svc.DOMAIN HOST". `hostname` is uname's:
// HOST, or with setHostnameAsFQDN the whole name. Muster's own lines do not count.
void podname_read(const char *hostname, const char *hosts, size_t hosts_len,
                  const char *resolv, size_t resolv_len, struct podname *out);
void podname_free(struct podname *p);

#endif
