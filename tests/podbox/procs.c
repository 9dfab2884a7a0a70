// Find the processes of a pid namespace.
#include "tests/podbox/procs.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "tests/podbox/file.h"

static ino_t pid_namespace(const char *pid)
{
    struct stat st;
    CLEANUP_FREE char *path = xasprintf("/proc/%s/ns/pid", pid);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

// "PID COMMAND LINE"; the name in brackets where there is no command line.
static void print_process(const char *pid)
{
    CLEANUP_FREE char *cmd_path = xasprintf("/proc/%s/cmdline", pid);
    CLEANUP_FREE char *comm_path = xasprintf("/proc/%s/comm", pid);
    FILE *f = fopen(cmd_path, "re");
    char line[4096];
    size_t n = f != NULL ? fread(line, 1, sizeof line - 1, f) : 0;
    if (f != NULL)
        fclose(f);
    while (n > 0 && line[n - 1] == '\0')
        n--;
    for (size_t i = 0; i < n; i++)
        line[i] = line[i] == '\0' || line[i] == '\n' ? ' ' : line[i];
    line[n] = '\0';
    CLEANUP_FREE char *comm = n == 0 ? file_read(comm_path, NULL) : NULL;
    if (n > 0)
        printf("%s %s\n", pid, line);
    else if (comm != NULL)
        printf("%s [%.*s]\n", pid, (int)strcspn(comm, "\n"), comm);
}

static void print_one(const char *pid, int arg)
{
    print_process(pid);
}

static void signal_one(const char *pid, int sig)
{
    kill((pid_t)atoi(pid), sig);
}

static void each(const struct ident *pid1, void (*fn)(const char *, int), int arg)
{
    CLEANUP_FREE char *first = xasprintf("%d", (int)pid1->pid);
    ino_t space = ident_alive(pid1) ? pid_namespace(first) : 0;
    DIR *proc = space != 0 ? opendir("/proc") : NULL;
    for (struct dirent *d; proc != NULL && (d = readdir(proc)) != NULL;)
        if (d->d_name[0] >= '0' && d->d_name[0] <= '9' &&
            pid_namespace(d->d_name) == space)
            fn(d->d_name, arg);
    if (proc != NULL)
        closedir(proc);
}

void procs_print(const struct ident *pid1)
{
    each(pid1, print_one, 0);
}

void procs_signal(const struct ident *pid1, int sig)
{
    each(pid1, signal_one, sig);
}
