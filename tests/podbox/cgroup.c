// Freezer cgroups of both versions.
#include "tests/podbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "tests/podbox/file.h"

enum { WAIT_MS = 5000 };

struct mount_point {
    enum cgroup_kind kind;
    char path[256];
};

// The best of the mounts; see proc(5) on mountinfo.
static struct mount_point find_mount(void)
{
    struct mount_point found = {CGROUP_NONE, ""};
    CLEANUP_FREE char *text = file_read("/proc/self/mountinfo", NULL);
    char *save = NULL;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char root[256], path[256], type[32], options[256];
        char *rest = strstr(line, " - ");
        if (rest == NULL || sscanf(line, "%*s %*s %*s %255s %255s", root, path) != 2 ||
            sscanf(rest, " - %31s %*s %255s", type, options) != 2 ||
            strcmp(root, "/") != 0 || access(path, W_OK) < 0)
            continue;
        enum cgroup_kind kind = CGROUP_NONE;
        if (strcmp(type, "cgroup2") == 0)
            kind = CGROUP_V2;
        else if (strcmp(type, "cgroup") == 0 && strstr(options, "freezer") != NULL)
            kind = CGROUP_V1;
        if (kind > found.kind) {
            found.kind = kind;
            snprintf(found.path, sizeof found.path, "%s", path);
        }
    }
    return found;
}

enum cgroup_kind cgroup_kind(void)
{
    return find_mount().kind;
}

const char *cgroup_kind_text(enum cgroup_kind kind)
{
    static const char *const texts[] = {"SIGSTOP (no cgroup freezer here)",
                                        "cgroup v1 freezer", "cgroup v2 freezer"};
    return texts[kind];
}

char *cgroup_dir(const struct bed *bed, const struct pod *pod)
{
    struct mount_point m = find_mount();
    if (m.kind == CGROUP_NONE)
        return NULL;
    return xasprintf("%s/podbox/%s%s%s", m.path, bed->name, pod != NULL ? "/" : "",
                     pod != NULL ? pod->name : "");
}

int cgroup_make(const struct bed *bed, const struct pod *pod, struct err *err)
{
    CLEANUP_FREE char *dir = cgroup_dir(bed, pod);
    return dir == NULL ? 0 : file_mkdirs(dir, 0755, err);
}

static int put(const char *dir, const char *file, const char *value, struct err *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, file);
    return file_write(path, value, 0644, err);
}

int cgroup_join(const char *dir, struct err *err)
{
    return dir == NULL ? 0 : put(dir, "cgroup.procs", "0", err);
}

// Does a line of the file say so?
static bool says(const char *dir, const char *file, const char *line)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, file);
    CLEANUP_FREE char *text = file_read(path, NULL);
    return text != NULL && strstr(text, line) != NULL;
}

int cgroup_freeze(const char *dir, enum cgroup_kind kind, bool frozen, struct err *err)
{
    bool v2 = kind == CGROUP_V2;
    const char *file = v2 ? "cgroup.freeze" : "freezer.state";
    const char *value = v2 ? (frozen ? "1" : "0") : (frozen ? "FROZEN" : "THAWED");
    const char *state = v2 ? "cgroup.events" : file;
    const char *line = v2 ? (frozen ? "frozen 1" : "frozen 0") : value;
    if (put(dir, file, value, err) < 0)
        return -1;
    for (uint64_t end = loop_now_ms() + WAIT_MS; !says(dir, state, line);) {
        if (loop_now_ms() > end) {
            err_set(err, "%s/%s does not say '%s' within %d ms", dir, state, line,
                    (int)WAIT_MS);
            return -1;
        }
        poll(NULL, 0, 2);
    }
    return 0;
}

// ---- the end of a bed -------------------------------------------------------

static void each_child(const char *dir, void (*fn)(const char *, enum cgroup_kind),
                       enum cgroup_kind kind)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", dir, e->d_name);
        struct stat st;
        if (e->d_name[0] != '.' && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            fn(path, kind);
    }
    if (d != NULL)
        closedir(d);
}

// Kill what is in here: frozen processes of version 1 die when they are thawed.
static void kill_all(const char *dir, enum cgroup_kind kind)
{
    each_child(dir, kill_all, kind);
    put(dir, kind == CGROUP_V2 ? "cgroup.freeze" : "freezer.state",
        kind == CGROUP_V2 ? "0" : "THAWED", NULL);
    CLEANUP_FREE char *path = xasprintf("%s/cgroup.procs", dir);
    CLEANUP_FREE char *pids = file_read(path, NULL);
    char *save = NULL;
    for (char *p = pids ? strtok_r(pids, "\n", &save) : NULL; p != NULL;
         p = strtok_r(NULL, "\n", &save)) {
        pid_t pid = (pid_t)atoi(p);
        if (pid > 0 && pid != getpid()) // 0: not visible from this pid namespace
            kill(pid, SIGKILL);
    }
}

static void remove_dirs(const char *dir, enum cgroup_kind kind)
{
    each_child(dir, remove_dirs, kind);
    rmdir(dir);
}

int cgroup_end(const struct bed *bed, struct err *err)
{
    CLEANUP_FREE char *dir = cgroup_dir(bed, NULL);
    if (dir == NULL)
        return 0;
    enum cgroup_kind kind = cgroup_kind();
    for (uint64_t end = loop_now_ms() + WAIT_MS; file_exists(dir);) {
        kill_all(dir, kind);
        remove_dirs(dir, kind);
        if (!file_exists(dir))
            break;
        if (loop_now_ms() > end) {
            err_set(err, "%s still has processes %d ms after SIGKILL", dir,
                    (int)WAIT_MS);
            return -1;
        }
        poll(NULL, 0, 2);
    }
    *strrchr(dir, '/') = '\0';
    rmdir(dir); // the last bed takes the common directory along
    return 0;
}
