// /proc/net/tcp has the socket, /proc/PID/fd its owner.
#include "agent/port_holder.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/proc.h"

enum { LISTENS = 0x0a }; // TCP_LISTEN as /proc/net/tcp has it

// "sl: LOCAL:PORT REMOTE:PORT ST tx:rx tr:when retrnsmt uid timeout inode ..." (proc(5)).
unsigned long port_holder_inode(const char *line, uint16_t port)
{
    unsigned local, state;
    unsigned long inode;
    if (sscanf(line,
               " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %lu",
               &local, &state, &inode) != 3)
        return 0;
    return local == port && state == LISTENS ? inode : 0;
}

// Line by line: the table of a busy pod is long.
static unsigned long look_in(const char *path, uint16_t port)
{
    char line[512];
    unsigned long inode = 0;
    FILE *f = fopen(path, "re");
    while (f != NULL && inode == 0 && fgets(line, sizeof line, f) != NULL)
        inode = port_holder_inode(line, port);
    if (f != NULL)
        fclose(f);
    return inode;
}

static bool has_socket(const char *pid, const char *socket)
{
    char path[300], target[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir != NULL && !found && (d = readdir(dir)) != NULL;) {
        ssize_t n = readlinkat(dirfd(dir), d->d_name, target, sizeof target - 1);
        found = n > 0 && (size_t)n == strlen(socket) &&
                memcmp(target, socket, (size_t)n) == 0;
    }
    if (dir != NULL)
        closedir(dir);
    return found;
}

static char *owner_text(unsigned long inode)
{
    char socket[64], comm[64];
    char *text = NULL;
    snprintf(socket, sizeof socket, "socket:[%lu]", inode);
    DIR *dir = opendir("/proc");
    for (const struct dirent *d;
         dir != NULL && text == NULL && (d = readdir(dir)) != NULL;) {
        if (d->d_name[0] < '0' || d->d_name[0] > '9' || !has_socket(d->d_name, socket))
            continue;
        proc_comm((pid_t)atoi(d->d_name), comm, sizeof comm);
        text = xasprintf("process %s (%s)", d->d_name, comm);
    }
    if (dir != NULL)
        closedir(dir);
    return text != NULL ? text
                        : xstrdup("a process of another container of the pod, or of "
                                  "another user");
}

char *port_holder_text(uint16_t port)
{
    unsigned long inode = look_in("/proc/net/tcp", port);
    if (inode == 0)
        inode = look_in("/proc/net/tcp6", port);
    return inode != 0 ? owner_text(inode) : NULL;
}
