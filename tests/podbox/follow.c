// Pass signals on, wait for the end.
#include "tests/podbox/follow.h"

#include <sys/wait.h>

#include "common/proc.h"

void follow_block(sigset_t *set)
{
    static const int passed[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                 SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        sigaddset(set, passed[i]);
    sigprocmask(SIG_BLOCK, set, NULL);
}

int follow_child(pid_t pid, const sigset_t *set, bool own_session)
{
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        siginfo_t info;
        int sig = sigwaitinfo(set, &info);
        if (sig > 0 && sig != SIGCHLD && (own_session || info.si_code <= 0))
            kill(pid, sig);
    }
    return proc_status_code(status);
}
