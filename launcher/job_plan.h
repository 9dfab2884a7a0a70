// The messages that start an attempt, built from roll and map. Pure.
#ifndef MUSTER_LAUNCHER_JOB_PLAN_H
#define MUSTER_LAUNCHER_JOB_PLAN_H

#include "hostfile/members.h"
#include "hostfile/roll.h"
#include "launcher/group.h"
#include "launcher/map.h"
#include "launcher/opts.h"
#include "wire/muster.pb-c.h"

// All own all that they point to: free with msg_free().
Muster__Attach *job_plan_attach(const struct roll *roll, const struct members *members,
                                const struct opts *o);

// What worlds are made of; borrowed. The map's positions are the roll's.
struct job_plan {
    const struct roll *roll;
    const struct group *group; // the members' vertices
    const struct map *map;
    const struct opts *opts;
};

// The first world: the user's program. reason: why the attempt before this one ended; NULL:
// this is the first.
Muster__Prepare *job_plan_prepare(const struct job_plan *plan, const char *nspace,
                                  const char *reason);

// A further one, that ranks spawn: as the first, but for what `spawn` says. `first` is the
// number of its first rank, `number` of the world.
struct job_plan_spawn {
    const Muster__SpawnRequest *request; // borrowed
    const char *nspace;
    uint32_t number, first;
};
Muster__Prepare *job_plan_spawn(const struct job_plan *plan,
                                const struct job_plan_spawn *spawn);

#endif
