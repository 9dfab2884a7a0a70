// Options that say where the members come from, shared by programs (argp child).
#ifndef MUSTER_HOSTFILE_SOURCE_OPTS_H
#define MUSTER_HOSTFILE_SOURCE_OPTS_H

#include <argp.h>

#include "hostfile/detect.h"
#include "hostfile/source.h"

// The parent parser makes one with source_opts_init() and hands it down as the child's
// input: state->child_inputs[i] = &opts at ARGP_KEY_INIT. After argp_parse() it calls
// source_opts_settle().
struct source_opts {
    struct source_spec spec; // SOURCE_LOCAL until something names a source; the texts
                             // are argv's, or found's
    const char *option;      // that named the source, NULL: none
    bool wants_group;        // --auto
    uint32_t members;        // --members; 0: not said, and not told by what was found
    struct detected found;   // where no option named a source
};

void source_opts_init(struct source_opts *opts);
void source_opts_free(struct source_opts *opts);
// For a parent's struct argp_child: --auto, --local, --hostfile, --dialect, --host, --dns,
// --pods, --slots, --members, --dns-server. Two sources at once are an error.
const struct argp *source_opts_argp(void);

// Looks at what system made this pod, where no option names a source. needs_group: this
// machine alone is of no use to the program.
int source_opts_settle(struct source_opts *opts, bool needs_group, struct err *err);
// What the log should say of a source that no option named; NULL: nothing. Caller frees.
char *source_opts_line(const struct source_opts *opts);

#endif
