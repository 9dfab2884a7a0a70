// A pid 1 that does nothing but reap.
#include "tests/podbox/pause.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>

int pause_main(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_NAME, "pause");
    for (;;) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        int sig = sigwaitinfo(&set, NULL);
        if (sig == SIGTERM || sig == SIGINT)
            return 0;
    }
}
