// musterd as a child, for a run on this machine without agents and keys.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/proc.h"
#include "launcher/job_internal.h"

extern char **environ;

// Beside this program, where it was installed, or in the build tree.
static char *find_musterd(struct err *err)
{
    static const char *const places[] = {"musterd", "../sbin/musterd",
                                         "../agent/musterd"};
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", self, places[i]);
        if (access(path, X_OK) == 0)
            return STEAL(path);
    }
    char *path = proc_resolve("musterd", getenv("PATH"), NULL, err);
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
