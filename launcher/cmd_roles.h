// `muster run` with roles: a launcher for each, and this one that lets them know of each other.
#ifndef MUSTER_LAUNCHER_CMD_ROLES_H
#define MUSTER_LAUNCHER_CMD_ROLES_H

#include "launcher/opts.h"

// o: what argv says. Returns the exit code.
int cmd_roles(const struct opts *o, char **argv);

#endif
