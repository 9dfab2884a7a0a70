// The pods of a headless Service, known by name, from one answer to the next. Pure.
//
// Each has a belief an address family. All are reported in one family: that which all of
// them have, else that which more of them have, with a finding.
#ifndef MUSTER_HOSTFILE_PODS_H
#define MUSTER_HOSTFILE_PODS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "hostfile/members.h"

enum pods_family { PODS_IPV4, PODS_IPV6 };

struct pods;

// An address of the newest answer and whose it is.
struct pods_address {
    const char *name; // borrowed
    const struct sockaddr_storage *addr;
};

struct pods *pods_create(void);
void pods_destroy(struct pods *p); // NULL-safe
// The newest answer of a family. Pods that are not in it are in doubt, and go in the end.
// `list` is sorted.
void pods_take(struct pods *p, enum pods_family family, struct pods_address *list,
               size_t n);
// That one was lost, see belief_avoid(): it is asked for.
void pods_avoid(struct pods *p, const char *name);
// Some of them are in doubt.
bool pods_doubt(const struct pods *p);
// The name of a pod that has to be asked for, from number *at on, which moves behind it: the
// newest answer did not list it, or it was lost since it was asked for last. NULL: there is
// none. Borrowed.
const char *pods_missed(struct pods *p, size_t *at);
// Each pod once, in turn; NULL: there is none. Borrowed.
const char *pods_turn(struct pods *p);
// The family of the addresses; members in natural order, with `slots`; a finding goes to
// the warnings, behind "WHAT: ".
enum pods_family pods_members(struct pods *p, int slots, const char *what,
                              struct members *to);

#endif
