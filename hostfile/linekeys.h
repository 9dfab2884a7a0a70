// What follows the host on a hostfile's line: slots=4 max_slots=8 port=2222 user=train.
#ifndef MUSTER_HOSTFILE_LINEKEYS_H
#define MUSTER_HOSTFILE_LINEKEYS_H

#include <stddef.h>

#include "hostfile/place.h"

struct linekeys {
    int slots, max_slots, port; // -1: not given
    const char *user;           // slice of the line, NULL: not given
    size_t user_len;
};

// Parses `text` (no comment, no newline), which stands at the place. Open MPI's
// spellings of the keys are taken, blanks round '=' too. Errors: HF_UNKNOWN_KEY,
// HF_BAD_COUNT, HF_DUP_COUNT, HF_BAD_PORT, HF_SYNTAX.
int linekeys_parse(const char *text, size_t len, const struct place *at,
                   struct linekeys *out, struct err *err);

#endif
