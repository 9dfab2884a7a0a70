// Commands that stock ssh clients run in the pod: processes behind link_shell.
//
// Each is /bin/sh -c COMMAND in a session of its own, with the container's environment, as
// the agent's user, in HOME. A command is over when it has exited and its output has
// ended; when the client goes before that, it is killed with all that descends from it. What
// it left behind after a good end is not touched, as under sshd.
#ifndef MUSTER_AGENT_SHELL_H
#define MUSTER_AGENT_SHELL_H

#include "wire/link_shell.h"

struct agent;
struct shells; // those of one agent; bounded in number

struct shells *shells_create(struct agent *a);
// After the listener, so that none is left.
void shells_destroy(struct shells *s); // NULL-safe
// server_arg: struct shells.
const struct link_shell_ops *shells_ops(void);

#endif
