// Words that may have been meant: how far one is from another. Pure.
#ifndef MUSTER_HOSTFILE_NEAR_H
#define MUSTER_HOSTFILE_NEAR_H

#include <stddef.h>

enum { NEAR_MAX = 253 }; // bytes of a word; longer ones are near to nothing

// Edits that turn a into b, case aside; at most `most`, or most + 1.
size_t near_distance(const char *a, size_t na, const char *b, size_t nb, size_t most);

#endif
