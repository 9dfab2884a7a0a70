// Hosts on a command line: "a:2,b:2,[fd00::5]:4".
#ifndef MUSTER_HOSTFILE_HOSTLIST_H
#define MUSTER_HOSTFILE_HOSTLIST_H

#include "common/err.h"
#include "hostfile/members.h"

// A host without a count has `bare` slots (-1: none said); repeats add up, as in Open
// MPI; a count of 0 is fine. Ranges and user@ are taken. `option` ("--host") and `self`
// (NULL: localhost is kept) as in dialect_read(); errors "OPTION:COLUMN: KIND: text".
int hostlist_read(const char *text, const char *option, int bare, const char *self,
                  struct members *out, struct err *err);

#endif
