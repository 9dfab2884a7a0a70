// The processes below this one, from /proc.
#include "agent/keeper_kin.h"

#include <signal.h>
#include <unistd.h>

#include "common/proc.h"

size_t keeper_kin_count(pid_t except)
{
    return proc_descendants_but(getpid(), &except, 1, NULL, 0);
}

void keeper_kin_terminate(pid_t except)
{
    proc_kill_but(getpid(), SIGTERM, &except, 1);
    proc_kill_but(getpid(), SIGCONT, &except, 1);
}

size_t keeper_kin_kill(pid_t except)
{
    return proc_kill_but(getpid(), SIGKILL, &except, 1);
}

void keeper_kin_name(pid_t except, struct strv *names)
{
    proc_name_but(getpid(), &except, 1, names);
}
