// Be the stand-in of a program in a container: signals go there, its exit code comes back.
#ifndef MUSTER_PODBOX_FOLLOW_H
#define MUSTER_PODBOX_FOLLOW_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

// Before the fork: block what is passed on. The child has to unblock it.
void follow_block(sigset_t *set);
// Pass signals on until the child ends; its exit code, or 128 + signal. Those of our
// terminal reach it by themselves when it shares our session.
int follow_child(pid_t pid, const sigset_t *set, bool own_session);

#endif
