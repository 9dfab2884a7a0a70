// Options that say which files are kept: --hosts, --write, --by; for several programs.
#ifndef MUSTER_SIDECAR_WRITE_OPTS_H
#define MUSTER_SIDECAR_WRITE_OPTS_H

#include <stdbool.h>

#include "sidecar/keep.h"

enum { WRITE_OPTS_MAX = 32 };

struct write_opts {
    const char *hosts; // NULL: not asked for
    bool any_hosts;    // its path was given
    struct keep_hostfile hostfiles[WRITE_OPTS_MAX];
    size_t nhostfiles;
    bool by_name;
};

struct argp;

// An argp child; its input is a struct write_opts of zeros. What makes no sense ends the
// program with one error.
const struct argp *write_opts_argp(void);
// Is there anything to keep?
bool write_opts_any(const struct write_opts *o);
// Fills in what the options say.
void write_opts_conf(const struct write_opts *o, struct keep_conf *conf);

#endif
