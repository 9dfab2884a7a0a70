// Which group this pod belongs to, as the system that made it says: LeaderWorkerSet,
// JobSet, Indexed Job, StatefulSet, MPIJob, TrainJob, Volcano, DeepSpeed. Pure, but for
// the files that it reads.
//
// Nothing is guessed: half an environment, a value that makes no sense, and two systems
// that name different groups are errors. A system that does not tell how many pods the
// group has needs to be told (--members). What a system sets: detect_*.c.
#ifndef MUSTER_HOSTFILE_DETECT_H
#define MUSTER_HOSTFILE_DETECT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "hostfile/source.h"

enum { DETECT_MEMBERS_MAX = 65536 };

// What is looked at.
struct detect_view {
    char *const *env;     // "NAME=VALUE", NULL at the end; an empty value is none
    const char *root;     // in front of each path that is read; "": this machine
    const char *hostname; // as uname gives it
};

struct detected {
    const char *system; // "LeaderWorkerSet"; NULL: nothing was found
    struct source_spec spec;
    char *text;       // of the spec
    char *group;      // "group train-0 of 4"
    char *why;        // what told: "LWS_LEADER_ADDRESS"
    uint32_t members; // that the group has; 0: the source itself tells
    long index;       // the own member's; -1: this pod is none, or it is not known
    char *hint;       // nothing was found, but this pod looks like one of a group
};

// members: --members, 0: not said. wanted: the user asks for a group, so what looks like
// one without saying so counts. 0: *out says what was found, or that nothing was.
int detect(const struct detect_view *view, uint32_t members, bool wanted,
           struct detected *out, struct err *err);
void detected_free(struct detected *d);
// "LeaderWorkerSet group train-0 of 4 (LWS_LEADER_ADDRESS)". Caller frees.
char *detected_describe(const struct detected *d);

#endif
