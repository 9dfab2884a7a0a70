// Files that ranks have left in shared memory.
#ifndef MUSTER_AGENT_SHM_FILES_H
#define MUSTER_AGENT_SHM_FILES_H

#include <time.h>

struct strv;

// Now, by the clock that file systems stamp their files with.
struct timespec shm_files_now(void);
// Adds one text where `dir` has regular files that were made at `since` or later: how many,
// their size, and some names. Who made them cannot be seen: that is the caller's to know.
// Where the file system does not remember when a file was made its last change counts. Nothing
// where `dir` cannot be read.
void shm_files_name(const char *dir, const struct timespec *since,
                    struct strv *findings);

#endif
