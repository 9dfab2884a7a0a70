// Options of muster-sidecar.
#ifndef MUSTER_SIDECAR_OPTS_H
#define MUSTER_SIDECAR_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "hostfile/source_opts.h"
#include "sidecar/keep.h"

enum { OPTS_HOSTFILES_MAX = 32 };

struct sidecar_opts {
    struct source_opts source;
    const char *hosts; // NULL: not asked for
    bool any_hosts;    // its path was given
    struct keep_hostfile hostfiles[OPTS_HOSTFILES_MAX];
    size_t nhostfiles;
    bool by_name, once, diff, json_log, verbose;
    uint32_t wait_ms, interval_ms;
};

// Prints help or one error and exits (125) where it must.
void sidecar_opts_parse(struct sidecar_opts *o, int argc, char **argv);

#endif
