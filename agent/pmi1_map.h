// PMI_process_mapping: which ranks share a node, as MPICH and its kin read it. Pure.
#ifndef MUSTER_AGENT_PMI1_MAP_H
#define MUSTER_AGENT_PMI1_MAP_H

#include <stddef.h>

#include "wire/muster.pb-c.h"

// "(vector,(FIRST-NODE,NODES,RANKS-EACH),...)" with nodes numbered as positions; ranks
// are dense. NULL when it is longer than `max` bytes: clients then compare host names.
// Caller frees.
char *pmi1_map_text(Muster__Position *const *positions, size_t n, size_t max);

#endif
