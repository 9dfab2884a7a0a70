// Identity of a process: pid and start time, signalled through a pidfd.
#include "tests/podbox/ident.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/podbox/file.h"

struct ident ident_of(pid_t pid)
{
    char path[64], state = 'Z';
    struct ident id = {0, 0};
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    CLEANUP_FREE char *text = pid > 0 ? file_read(path, NULL) : NULL;
    char *after =
        text != NULL ? strrchr(text, ')') : NULL; // the name may hold anything
    if (after == NULL ||
        sscanf(after + 1,
               " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%*s %*s %llu",
               &state, &id.start) != 2 ||
        state == 'Z' || state == 'X')
        return (struct ident){0, 0};
    id.pid = pid;
    return id;
}

bool ident_alive(const struct ident *id)
{
    struct ident now = ident_of(id->pid);
    return now.pid != 0 && now.start == id->start;
}

int ident_open(const struct ident *id)
{
    if (id->pid <= 0) {
        errno = ESRCH;
        return -1;
    }
    int fd = (int)syscall(SYS_pidfd_open, id->pid, 0);
    if (fd < 0 || ident_alive(id))
        return fd;
    close(fd);
    errno = ESRCH;
    return -1;
}

bool ident_kill(const struct ident *id, int sig)
{
    CLEANUP_CLOSE int fd = ident_open(id);
    return fd >= 0 && syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) == 0;
}

bool ident_end(const struct ident *id, int ms)
{
    CLEANUP_CLOSE int fd = ident_open(id);
    if (fd < 0)
        return true;
    syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    bool gone = poll(&p, 1, ms) > 0;
    waitpid(id->pid, NULL, WNOHANG); // in case it is our own child
    return gone;
}
