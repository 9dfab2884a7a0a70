// Files that ranks have left in shared memory. Which are new is told by a list from before and
// not by their times: since Linux 6.13 tmpfs stamps files ahead of every clock that programs can
// read at that price (multigrain timestamps), and clocks are set back.
#ifndef MUSTER_AGENT_SHM_FILES_H
#define MUSTER_AGENT_SHM_FILES_H

struct strv;

// Adds what is in `dir` now, for shm_files_name. Nothing where it cannot be read.
void shm_files_list(const char *dir, struct strv *now);
// Adds one text where `dir` has regular files that are not in `before`: how many, their size,
// and some names. Who made them cannot be seen: that is the caller's to know.
void shm_files_name(const char *dir, const struct strv *before, struct strv *findings);

#endif
