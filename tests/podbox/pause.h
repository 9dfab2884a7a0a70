// Pid 1 of a container that was given no command.
#ifndef MUSTER_PODBOX_PAUSE_H
#define MUSTER_PODBOX_PAUSE_H

// Reap orphans until SIGTERM or SIGINT; returns the exit code.
int pause_main(void);

#endif
