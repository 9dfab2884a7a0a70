// Options that say where the members come from, shared by programs (argp child).
#ifndef MUSTER_HOSTFILE_SOURCE_OPTS_H
#define MUSTER_HOSTFILE_SOURCE_OPTS_H

#include <argp.h>

#include "hostfile/source.h"

// The parent parser makes one with source_opts_init() and hands it down as the child's
// input: state->child_inputs[i] = &opts at ARGP_KEY_INIT.
struct source_opts {
    struct source_spec spec; // SOURCE_LOCAL when no option names a source; the texts
                             // are argv's
    const char *option;      // that named the source, NULL: none
};

void source_opts_init(struct source_opts *opts);
// For a parent's struct argp_child: --hostfile, --dialect, --host, --dns, --pods, --slots,
// --dns-server. Two sources at once are an error.
const struct argp *source_opts_argp(void);

#endif
