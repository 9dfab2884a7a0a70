// Options of mpirun that `muster run` has no use for: refused with what to do instead.
#ifndef MUSTER_LAUNCHER_FOREIGN_OPTS_H
#define MUSTER_LAUNCHER_FOREIGN_OPTS_H

#include <argp.h>

const struct argp *foreign_opts_argp(void); // hidden from --help

#endif
