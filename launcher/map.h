// From members and their slots to positions and ranks. Pure.
//
// Block mapping by slots, as mpirun does by default: ranks fill the first member's
// slots, then the second's. With ppn every member gets that many. By node, the ranks go
// round the members, one to each that has a slot left. Members that get no ranks have no
// position. With a grid, places and numbers are those of grid.h; the position with rank 0
// comes first, the others in the members' order.
#ifndef MUSTER_LAUNCHER_MAP_H
#define MUSTER_LAUNCHER_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "launcher/grid.h"

struct map_member {
    const char *name;
    uint32_t slots;
    uint32_t domain; // of grid.h
};

struct map_request {
    uint32_t ranks;     // 0: one for each slot, or ppn on each member
    uint32_t ppn;       // 0: by slots
    bool oversubscribe; // more ranks than slots: spread over the members in proportion
    bool by_node;       // round robin
    bool has_grid;      // `ranks` are the grid's then
    struct grid grid;
    bool grid_split; // as grid_place()'s allow_split
};

struct map_position {
    uint32_t member; // index
    uint32_t count;
    uint32_t *ranks; // ascending; in map.order
};

struct map {
    struct map_position *positions; // owned
    uint32_t npositions;
    uint32_t *order; // owned: the ranks, position by position
    uint32_t ranks;
    uint32_t slots; // of the whole group
};

enum {
    MAP_RANKS_MAX = 1 << 20,
    MAP_NODE_RANKS_MAX = 65535, // PMIX_LOCAL_RANK is a uint16
};

int map_ranks(const struct map_member *members, uint32_t n,
              const struct map_request *rq, struct map *map, struct err *err);
void map_free(struct map *map);
// "rank 4", "ranks 4-7", "ranks 0, 4, 8 and 3 more". Caller frees.
char *map_ranks_text(const struct map_position *p);

// libpmix 4.2 writes past a buffer when it packs node names of 57 bytes or more.
enum { MAP_NODE_NAME_MAX = 56 };

// Node names that ranks see: the hostnames when they are all different, not empty and
// at most MAP_NODE_NAME_MAX bytes, else the members' names under the same condition,
// else the addresses. `out` gets n borrowed pointers.
struct map_node {
    const char *hostname, *name, *address;
};
void map_node_names(const struct map_node *nodes, uint32_t n, const char **out);

#endif
