// What follows the host on a hostfile's line: slots=4 max_slots=8 port=2222 user=train.
#ifndef MUSTER_HOSTFILE_LINEKEYS_H
#define MUSTER_HOSTFILE_LINEKEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "hostfile/place.h"

// What a dialect knows.
enum linekeys_mask {
    LINEKEYS_SLOTS = 1,
    LINEKEYS_MAX_SLOTS = 2,
    LINEKEYS_PORT = 4,
    LINEKEYS_USER = 8,
    LINEKEYS_BINDING = 16,
    LINEKEYS_USERNAME = 32, // Open MPI's word for it
    LINEKEYS_LOOSE = 64,    // Open MPI's other spellings ("cpus"), and blanks round '='
    LINEKEYS_OPENMPI = LINEKEYS_SLOTS | LINEKEYS_MAX_SLOTS | LINEKEYS_PORT |
                       LINEKEYS_USERNAME | LINEKEYS_LOOSE
};

struct linekeys {
    int slots, max_slots, port; // -1: not given
    const char *user;           // slice of the line, NULL: not given
    size_t user_len;
    bool binding; // binding= stood there
};

// Parses `text` (no comment, no newline), which stands at the place. `known` is an or
// of enum linekeys_mask. Errors: HF_UNKNOWN_KEY, HF_BAD_COUNT, HF_DUP_COUNT,
// HF_BAD_PORT, HF_SYNTAX.
int linekeys_parse(const char *text, size_t len, const struct place *at, unsigned known,
                   struct linekeys *out, struct err *err);

#endif
