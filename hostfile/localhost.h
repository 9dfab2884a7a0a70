// "localhost" among other members: it must bear a name that the others can use too.
#ifndef MUSTER_HOSTFILE_LOCALHOST_H
#define MUSTER_HOSTFILE_LOCALHOST_H

#include "hostfile/members.h"
#include "hostfile/place.h"

// In a list of more than one member, a member called localhost gets the name `self`
// (this machine's), with one warning. HF_DUP_COUNT when `self` is a member too. `file`
// names the source; NULL as `self` changes nothing.
int localhost_replace(struct members *m, const char *self, const char *file,
                      struct err *err);

#endif
