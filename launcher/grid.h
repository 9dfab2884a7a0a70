// Tensor, pipeline and data parallel ranks: how they are numbered, and which member each one
// runs on. Pure.
//
// --grid tp=8,pp=4,dp=2: the first axis varies fastest with the rank, so a tensor-parallel
// group has consecutive ranks. Placing does not depend on the order: a tensor-parallel group
// stays on one member, a pipeline on one member where it fits, else in one domain (a
// sub-group of members), else on members that follow each other.
#ifndef MUSTER_LAUNCHER_GRID_H
#define MUSTER_LAUNCHER_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

enum grid_axis_name { GRID_TP, GRID_PP, GRID_DP, GRID_AXES };

struct grid {
    enum grid_axis_name order[GRID_AXES]; // fastest first: GRID_TP
    uint32_t size[GRID_AXES];             // by name, at least 1
};

// Errors name the column, from 1.
int grid_parse(const char *text, struct grid *g, struct err *err);
uint32_t grid_ranks(const struct grid *g);
uint32_t grid_rank(const struct grid *g, const uint32_t at[GRID_AXES]); // at: by name
const char *grid_axis_text(enum grid_axis_name name);                   // "TP"

// A member that can take ranks.
struct grid_room {
    const char *name;
    uint32_t free;   // ranks that it can still take; changed by placing
    uint32_t domain; // members of one domain follow each other
};

// The member of each rank, member[grid_ranks()]. allow_split: a tensor-parallel group may be
// on several members, but not in several domains. -1 with err: a group found no room.
int grid_place(const struct grid *g, bool allow_split, struct grid_room *rooms,
               uint32_t n, uint32_t *member, struct err *err);

// Sub-groups of `size` members, as LeaderWorkerSet makes them (subGroupPolicy): equal ones,
// or with the leader, member 0, as one more in the first. leader_apart (LeaderExcluded): the
// leader is in none. -1 with err when `n` members cannot be divided so.
int grid_domains(uint32_t n, uint32_t size, bool leader_apart, uint32_t *domain,
                 struct err *err);

#endif
