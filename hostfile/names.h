// Which absolute names to ask DNS for: never the system's search behaviour. Pure.
//
// In Kubernetes the cluster domain is the search entry that begins "svc.", and the
// namespace that of "<ns>.svc.<domain>". The name that is right there is asked first,
// so that a member costs one round of queries.
#ifndef MUSTER_HOSTFILE_NAMES_H
#define MUSTER_HOSTFILE_NAMES_H

#include <stdbool.h>

#include "common/strv.h"
#include "hostfile/resolvconf.h"

enum names_kind {
    NAMES_SERVICE, // train, train.ns, train.ns.svc, train.ns.svc.<domain>
    NAMES_POD,     // train-0.train, train-0.train.ns, ...
    NAMES_HOST,    // whatever a hostfile holds
};

enum names_hosts { NAMES_HOSTS_NEVER, NAMES_HOSTS_FIRST, NAMES_HOSTS_LAST };

struct names_plan {
    struct strv ask;        // absolute (final dot), each once; the next one is asked
                            // only when the one before does not exist
    enum names_hosts hosts; // when /etc/hosts counts
};

// `name` without final dot; absolute: it had one, and only that name is asked.
void names_plan(const struct resolvconf *rc, const char *name, bool absolute,
                enum names_kind kind, struct names_plan *out);
void names_plan_free(struct names_plan *plan);

// The headless Service that a pod's name hangs on, absolute without final dot:
// "train.ns.svc.cluster.local" of "train-0.train". In a cluster the name's form says so,
// outside of one the kind. NULL: no such name. Caller frees.
char *names_service(const struct resolvconf *rc, const char *name, bool absolute,
                    enum names_kind kind);

// "cluster.local", NULL outside Kubernetes. Borrowed from rc.
const char *names_cluster_domain(const struct resolvconf *rc);
// The search entry "<ns>.svc.<domain>", NULL when there is none. Borrowed from rc.
const char *names_namespace_domain(const struct resolvconf *rc);

#endif
