// Choosing from a list of members.
//
// A name chooses the member of that name (without case and final dot), or the only one
// whose name begins with it and a dot; "+nK" chooses the K-th of the list, from 0.
// Errors: HF_NO_SUCH_HOST, AMBIGUOUS_HOST (with the candidates), HF_BAD_SLOT, HF_SYNTAX,
// HF_EMPTY; after an error *m is as it was. Each name stands for one member: merge
// repeats before (members_merge).
#ifndef MUSTER_HOSTFILE_FILTER_H
#define MUSTER_HOSTFILE_FILTER_H

#include "common/err.h"
#include "hostfile/members.h"
#include "hostfile/place.h"

// The index of what a name chooses, -1 with err.
long filter_find(const struct members *m, const char *name, size_t len,
                 const struct place *at, struct err *err);

// DeepSpeed's NAME[:SLOT,SLOT...][@NAME...]: keep these hosts, in the list's order; of a
// host with slots only those (its slots are their number, its slot_ids name them).
int filter_include(struct members *m, const char *spec, struct err *err);
// Leave out these hosts; of a host with slots only those.
int filter_exclude(struct members *m, const char *spec, struct err *err);
// Open MPI's hostfile as a filter: keep what `list` names, with its counts. "+e" is
// every host that the rest does not name, slots of "+e": only so many of them.
// `file` is for texts.
int filter_by_list(struct members *m, const struct members *list, const char *file,
                   struct err *err);

#endif
