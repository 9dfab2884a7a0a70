// The processes of a container, as the host sees them: all in its pid namespace.
#ifndef MUSTER_PODBOX_PROCS_H
#define MUSTER_PODBOX_PROCS_H

#include "tests/podbox/ident.h"

// "PID COMMAND LINE" for each, on stdout.
void procs_print(const struct ident *pid1);
void procs_signal(const struct ident *pid1, int sig);

#endif
