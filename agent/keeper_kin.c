// The processes below this one, from /proc.
#include "agent/keeper_kin.h"

#include <signal.h>
#include <unistd.h>

#include "common/proc.h"

enum { NAMED_MAX = 16, KILLED_MAX = 4096 };

size_t keeper_kin_count(pid_t except)
{
    return proc_descendants_but(getpid(), except, NULL, 0);
}

void keeper_kin_terminate(pid_t except)
{
    proc_kill_descendants(getpid(), SIGTERM, except);
    proc_kill_descendants(getpid(), SIGCONT, except);
}

size_t keeper_kin_kill(pid_t except)
{
    pid_t pids[KILLED_MAX];
    size_t n = proc_descendants_but(getpid(), except, pids, KILLED_MAX);
    for (size_t i = 0; i < n && i < KILLED_MAX; i++)
        kill(pids[i], SIGKILL);
    return n;
}

void keeper_kin_name(pid_t except, struct strv *names)
{
    pid_t pids[NAMED_MAX];
    size_t n = proc_descendants_but(getpid(), except, pids, NAMED_MAX);
    for (size_t i = 0; i < n && i < NAMED_MAX; i++) {
        char comm[64], state = proc_state(pids[i]);
        proc_comm(pids[i], comm, sizeof comm);
        if (state != '\0')
            strv_addf(names, "%d (%s, %c)", (int)pids[i], comm, state);
    }
    if (n > NAMED_MAX)
        strv_addf(names, "and %zu more", n - NAMED_MAX);
}
