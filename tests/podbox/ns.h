// Entering the namespaces of other processes, and running tools inside them.
#ifndef MUSTER_PODBOX_NS_H
#define MUSTER_PODBOX_NS_H

#include "common/err.h"
#include "tests/podbox/ident.h"

// setns(2) into the namespaces (CLONE_NEW* flags) of a process.
int ns_enter(const struct ident *id, int flags, struct err *err);

// fork(2) into new mount and pid namespaces; the caller's own stay as they are.
pid_t ns_fork_container(void);

// Step into a network namespace and back: sockets and children made in between belong
// to it. ns_net_step_in returns the fd that ns_net_step_out wants, or -1.
int ns_net_step_in(const struct ident *id, struct err *err);
void ns_net_step_out(int saved);

// Run a program in the network namespace of `net` with `input` as its stdin; waits. The
// error of a failed one holds what it said. argv[0] is searched in the system's paths.
int ns_run(const struct ident *net, const char *const *argv, const char *input,
           struct err *err);
// The path of a system program, or an error with BED_EXIT_CANNOT that names its
// package.
char *ns_tool(const char *program, const char *package, struct err *err);

#endif
