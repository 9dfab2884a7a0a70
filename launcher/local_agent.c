// musterd as a child, for a run on this machine without agents and keys.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "launcher/job_internal.h"

enum { END_MS = 10000, LOOK_MS = 2 }; // above the agent's own bound for its keepers

static char *find_musterd(struct err *err)
{
    static const char *const places[] = {"musterd", "../sbin/musterd",
                                         "../agent/musterd"};
    char *path = proc_find_beside(places, sizeof places / sizeof *places);
    if (path != NULL)
        return path;
    path = proc_resolve("musterd", getenv("PATH"), NULL, err);
    err_prefix(err, "this machine's agent");
    return path;
}

pid_t local_agent_start(int *fd, struct err *err)
{
    CLEANUP_FREE char *path = find_musterd(err);
    int sv[2];
    if (path == NULL)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0) {
        err_set_errno(err, errno, "socketpair");
        return -1;
    }
    char name[] = "musterd", flag[] = "--stdio";
    char *argv[] = {name, flag, NULL};
    struct proc_fd fds[] = {{sv[1], 0}, {sv[1], 1}};
    // A session of its own: the terminal's Ctrl-C is for the launcher alone.
    struct proc_spec spec = {.path = path,
                             .argv = argv,
                             .envp = environ,
                             .fds = fds,
                             .nfds = 2,
                             .own_session = true};
    pid_t pid = proc_spawn(&spec, err);
    close(sv[1]);
    if (pid < 0) {
        close(sv[0]);
        return -1;
    }
    *fd = sv[0];
    return pid;
}

void local_agent_end(pid_t pid)
{
    uint64_t end = loop_now_ms() + END_MS;
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (loop_now_ms() >= end)
            kill(pid, SIGKILL);
        poll(NULL, 0, LOOK_MS);
    }
}
