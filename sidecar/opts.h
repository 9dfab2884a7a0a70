// Options of muster-sidecar.
#ifndef MUSTER_SIDECAR_OPTS_H
#define MUSTER_SIDECAR_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "hostfile/source_opts.h"
#include "sidecar/write_opts.h"

struct sidecar_opts {
    struct source_opts source;
    struct write_opts files;
    bool once, diff, json_log, verbose;
    const char *run_dir; // NULL: the default, where it is there
    uint32_t wait_ms, interval_ms;
    const char *listen;    // NULL: no HTTP
    const char *on_change; // NULL: no program
    uint32_t on_change_ms; // how long it may take
};

// Prints help or one error and exits (125) where it must.
void sidecar_opts_parse(struct sidecar_opts *o, int argc, char **argv);

#endif
