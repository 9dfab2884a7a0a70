// The environment of ranks, pure: what the container has, without what the
// surroundings' launchers left in it, then Muster's variables, then the user's `-x`.
//
// Variables that are the same for all ranks of a position are the common part; those of
// one rank are put over it (Spawn.env and SpawnRank.env). Values are opaque bytes. What
// readers make of them stands in doc/ARCHITECTURE.md.
#ifndef MUSTER_AGENT_RANK_ENV_H
#define MUSTER_AGENT_RANK_ENV_H

#include <stddef.h>
#include <stdint.h>

#include "common/strv.h"
#include "wire/muster.pb-c.h"

// All borrowed. Positions hold ascending rank numbers; every rank is at one of them.
struct rank_env {
    const Muster__Prepare *prepare;
    const Muster__Go *go;
    size_t self; // own index in prepare->positions
    uint32_t attempt;
    const Muster__PmixReady *pmix; // NULL: ranks start without PMIx
    const char *tmpdir;            // of this attempt in this pod, or NULL
    const char *role_file;         // of this attempt in this pod, or NULL
    uint32_t cpus;                 // that this pod may use; 0: not known
};

// Adds the common part to `out`. `base` (NULL-terminated): the agent's own environment.
// What `app` sets comes last, but for names that are Muster's: an app that a rank spawns
// brings its parent's environment, and those belong to the parent.
void rank_env_common(const struct rank_env *e, const Muster__App *app,
                     char *const *base, struct strv *out);
// Adds the part of the position's i-th rank, but no name that `-x` sets.
void rank_env_rank(const struct rank_env *e, size_t i, struct strv *out);

// Of horovod: hosts that have a rank with this local rank, and how many of them come
// before this position.
void rank_env_cross(const struct rank_env *e, size_t local_rank, uint32_t *rank,
                    uint32_t *size);

#endif
