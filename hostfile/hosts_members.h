// Which names a member has in /etc/hosts. Pure.
#ifndef MUSTER_HOSTFILE_HOSTS_MEMBERS_H
#define MUSTER_HOSTFILE_HOSTS_MEMBERS_H

#include <stdbool.h>

#include "hostfile/hosts_want.h"
#include "hostfile/members.h"
#include "hostfile/resolvconf.h"

// A line for each member that has an address: its full name in the cluster (`pods`: the
// members are pods of a Service, whose names `conf` completes), the name as the source
// has it, and its first label where no other member has the same. A member that is named
// by an address has no line. What cannot stand there goes to `refused`, "NAME: why".
void hosts_members(const struct members *m, const struct resolvconf *conf, bool pods,
                   struct hosts_want *out, struct strv *refused);

#endif
