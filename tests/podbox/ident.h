// A process that is not mistaken for a later one of the same pid.
#ifndef MUSTER_PODBOX_IDENT_H
#define MUSTER_PODBOX_IDENT_H

#include <stdbool.h>
#include <sys/types.h>

struct ident {
    pid_t pid;                // 0: none
    unsigned long long start; // start time of /proc/PID/stat, in ticks since boot
};

// The process that has this pid now ({0, 0} when there is none or it is a zombie).
struct ident ident_of(pid_t pid);
bool ident_alive(const struct ident *id);
// A pidfd of exactly this process, or -1 with errno ESRCH.
int ident_open(const struct ident *id);
// Signal exactly this process; false when it is gone.
bool ident_kill(const struct ident *id, int sig);
// SIGKILL and wait until it is gone, at most ms milliseconds. True: gone.
bool ident_end(const struct ident *id, int ms);

#endif
