// setns(2) by pidfd, and tools run inside a network namespace.
#include "tests/podbox/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/proc.h"
#include "tests/podbox/bed.h"

int ns_enter(const struct ident *id, int flags, struct err *err)
{
    CLEANUP_CLOSE int fd = ident_open(id);
    if (fd >= 0 && setns(fd, flags) == 0)
        return 0;
    err_set_errno(err, errno, "cannot enter the namespaces of process %d",
                  (int)id->pid);
    return -1;
}

pid_t ns_fork_container(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_NEWPID | CLONE_NEWNS, NULL, NULL,
                          NULL, NULL);
}

int ns_net_step_in(const struct ident *id, struct err *err)
{
    int saved = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (saved < 0) {
        err_set_errno(err, errno, "cannot open /proc/self/ns/net");
        return -1;
    }
    if (ns_enter(id, CLONE_NEWNET, err) == 0)
        return saved;
    close(saved);
    return -1;
}

void ns_net_step_out(int saved)
{
    if (setns(saved, CLONE_NEWNET) < 0)
        abort(); // nothing after this may touch the wrong network
    close(saved);
}

char *ns_tool(const char *program, const char *package, struct err *err)
{
    char *path = proc_resolve(
        program, "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", NULL,
        NULL);
    if (path == NULL)
        err_set_kind(err, NULL, BED_EXIT_CANNOT,
                     "%s is missing: install the Debian package %s", program, package);
    return path;
}

// What a tool said, on one line.
static char *said(int fd)
{
    char text[512];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    for (char *p = text; *p != '\0'; p++)
        if (*p == '\n')
            *p = p[1] == '\0' ? '\0' : ' ';
    return xstrdup(text);
}

static pid_t spawn_in(const struct ident *net, const char *path,
                      const char *const *argv, int in, int out, struct err *err)
{
    STRV_AUTO args = STRV_INIT;
    for (size_t i = 0; argv[i] != NULL; i++)
        strv_add(&args, argv[i]);
    const struct proc_fd fds[] = {{in, 0}, {out, 1}, {out, 2}};
    struct proc_spec spec = {.path = path,
                             .argv = args.v,
                             .envp = environ,
                             .dir = "/",
                             .fds = fds,
                             .nfds = 3};
    int saved = ns_net_step_in(net, err);
    if (saved < 0)
        return -1;
    pid_t pid = proc_spawn(&spec, err);
    ns_net_step_out(saved);
    return pid;
}

int ns_run(const struct ident *net, const char *const *argv, const char *input,
           struct err *err)
{
    CLEANUP_FREE char *path = ns_tool(argv[0], argv[0], err);
    if (path == NULL)
        return -1;
    CLEANUP_CLOSE int in = memfd_create("input", MFD_CLOEXEC);
    CLEANUP_CLOSE int out = memfd_create("output", MFD_CLOEXEC);
    size_t len = strlen(input);
    if (in < 0 || out < 0 || pwrite(in, input, len, 0) != (ssize_t)len) {
        err_set_errno(err, errno, "cannot run %s: memfd", argv[0]);
        return -1;
    }
    pid_t pid = spawn_in(net, path, argv, in, out, err);
    if (pid < 0)
        return -1;
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    CLEANUP_FREE char *text = said(out);
    CLEANUP_FREE char *how = proc_status_text(status);
    err_set(err, "%s ended with %s: %s", argv[0], how, text);
    return -1;
}
