// Who runs where, as libpmix wants to be told: derived from PmixSetup, without libpmix.
//
// Names of the PMIx part begin with pmixd_: libpmix exports pmix_ itself.
#ifndef MUSTER_AGENT_PMIX_MAP_H
#define MUSTER_AGENT_PMIX_MAP_H

#include <stdint.h>

#include "common/err.h"
#include "wire/muster.pb-c.h"

enum {
    PMIXD_NSPACE_MAX = 255, // PMIX_MAX_NSLEN
    PMIXD_NODE_MAX = 63,
};
#define PMIXD_NO_POSITION 0xffffffffu // PmixSetup.self: none of the ranks is here

struct pmixd_place {
    uint32_t node;       // index into the positions
    uint16_t local_rank; // among the ranks of its node
    uint32_t app;        // which of the programs it runs
};

struct pmixd_map {
    uint32_t size;             // ranks of the job
    struct pmixd_place *place; // [size], by rank
    char *nodes;               // "n0,n1", for PMIx_generate_regex
    char *ranks;               // "0,1;2,3", for PMIx_generate_ppn
    char *peers;               // "2,3": the ranks of our own node; NULL: none
};

// Checks the setup: a namespace, an own index within the positions, node names that are
// distinct and without separators, ranks that are exactly 0 .. size-1, ascending in
// each position and at least one in each; programs that have all ranks between them.
struct pmixd_map *pmixd_map_create(const Muster__PmixSetup *setup, struct err *err);
void pmixd_map_destroy(struct pmixd_map *map); // NULL-safe

#endif
