// How much memory can be taken without anybody's being killed for it.
#ifndef MUSTER_KERNELS_CHECK_MEMROOM_H
#define MUSTER_KERNELS_CHECK_MEMROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

// Bytes: the least of what the machine has available and what this process' cgroup (v1 or
// v2) and each one above it still allow; file cache that can be dropped counts as free.
// root: "" (tests: a folder with proc/ and sys/ below it).
int memroom_read(const char *root, uint64_t *bytes, struct err *err);

// A share of it: "64M", "1.5G", "4096" (bytes) or "25%" of the room.
struct memroom_share {
    double value;
    bool percent;
};
enum { MEMROOM_MAX_PERCENT = 90 };
// False: it is no such text.
bool memroom_parse(const char *text, struct memroom_share *share);
// Bytes; an error when they are more than MEMROOM_MAX_PERCENT of the room.
int memroom_take(const struct memroom_share *share, uint64_t room, uint64_t *bytes,
                 struct err *err);

#endif
