// Inputs as files, for readers that take a path.
#ifndef MUSTER_TESTS_FUZZ_SCRATCH_H
#define MUSTER_TESTS_FUZZ_SCRATCH_H

#include <stddef.h>

// A directory of this process alone, that goes with it; in memory, where that can be had.
const char *scratch_dir(void);
// A file there with this content. Caller frees the path.
char *scratch_put(const char *name, const void *data, size_t size);

#endif
