// Printing members: a table for people, JSON for programs.
#ifndef MUSTER_LAUNCHER_ROLL_PRINT_H
#define MUSTER_LAUNCHER_ROLL_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "hostfile/members.h"

// MEMBER, SLOTS ("-": the agent's CPUs count), ADDRESS or why there is none.
void roll_print_table(const struct members *m, FILE *out);
// {"members": [{"name", "slots", "max_slots", "user", "port", "address", "why"}, ...],
// "warnings": [...], "source": {...}}; null where the source says nothing. Takes over
// `source` (source_json.h).
void roll_print_json(const struct members *m, json_t *source, FILE *out);

#endif
