// The cgroup's count of OOM kills.
#include "agent/oom.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

static char *read_text(const char *path, char *text, size_t size)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (n < 0)
        return NULL;
    text[n] = '\0';
    return text;
}

int64_t oom_parse(const char *text)
{
    for (const char *p = text; p != NULL; p = strchr(p, '\n')) {
        p += *p == '\n' ? 1 : 0;
        if (strncmp(p, "oom_kill ", 9) == 0)
            return strtoll(p + 9, NULL, 10);
    }
    return -1;
}

static int64_t count_in(const char *root, const char *mount, const char *cgroup,
                        const char *file)
{
    char text[4096];
    CLEANUP_FREE char *own = xasprintf("%s%s%s/%s", root, mount, cgroup, file);
    CLEANUP_FREE char *top = xasprintf("%s%s/%s", root, mount, file);
    if (read_text(own, text, sizeof text) == NULL &&
        read_text(top, text, sizeof text) == NULL)
        return -1;
    return oom_parse(text);
}

// A line "0::/path" is cgroup v2, "N:...,memory,...:/path" is v1.
static int64_t count_line(const char *root, char *line)
{
    char *lists = strchr(line, ':');
    char *path = lists != NULL ? strchr(lists + 1, ':') : NULL;
    if (path == NULL)
        return -1;
    *path++ = '\0';
    if (strcmp(lists, ":") == 0)
        return count_in(root, "/sys/fs/cgroup", path, "memory.events");
    for (char *p = lists + 1; p != NULL && *p != '\0'; p = strchr(p, ',')) {
        p += *p == ',' ? 1 : 0;
        if (strncmp(p, "memory", 6) == 0 && (p[6] == ',' || p[6] == '\0'))
            return count_in(root, "/sys/fs/cgroup/memory", path, "memory.oom_control");
    }
    return -1;
}

int64_t oom_kills(const char *root)
{
    char text[4096], *save = NULL;
    CLEANUP_FREE char *path = xasprintf("%s/proc/self/cgroup", root);
    int64_t count = -1;
    if (read_text(path, text, sizeof text) == NULL)
        return -1;
    for (char *line = strtok_r(text, "\n", &save); line != NULL && count < 0;
         line = strtok_r(NULL, "\n", &save))
        count = count_line(root, line);
    return count;
}
