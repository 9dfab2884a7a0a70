// The agent's own programs as files that can be brought to another machine.
#ifndef MUSTER_WIRE_AGENT_FILES_H
#define MUSTER_WIRE_AGENT_FILES_H

#include "common/buf.h"
#include "common/err.h"
#include "common/sha256.h"

enum { AGENT_FILES_MAX = 2 };

struct agent_file {
    const char *name;
    struct buf content;
    char hash[SHA256_HEX];
};

struct agent_files {
    struct agent_file
        v[AGENT_FILES_MAX]; // muster-pmixd, when there is one; musterd last
    size_t n;
    char dir[40]; // named after the content: "muster-agent-0123456789abcdef"
};

// Where muster-pmixd is for a musterd at this path: beside it (build tree, pushed), or
// where it was installed. NULL: nowhere. Caller frees.
char *agent_files_pmixd(const char *musterd);
// Reads musterd at this path and its muster-pmixd.
struct agent_files *agent_files_load(const char *musterd, struct err *err);
void agent_files_destroy(struct agent_files *f); // NULL-safe

#endif
