// Take a bed down and leave nothing behind.
#include "tests/podbox/down.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/strv.h"
#include "tests/podbox/bed.h"
#include "tests/podbox/boot.h"
#include "tests/podbox/cgroup.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/file.h"

enum { END_MS = 5000, LOCK_MS = 10000 };

// Is this command line (a newline ends each word) one of the bed's helpers or its
// knotd?
static bool is_ours(const struct bed *bed, const char *line)
{
    static const char *const roles[] = {BOOT_FABRIC, BOOT_SANDBOX, BOOT_SHIM};
    CLEANUP_FREE char *dns = xasprintf("knotd\n-c\n%s/dns/knot.conf\n", bed->dir);
    if (strcmp(line, dns) == 0)
        return true;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        CLEANUP_FREE char *want =
            xasprintf("podbox\n--bed\n%s\n%s\n", bed->name, roles[i]);
        if (strncmp(line, want, strlen(want)) == 0)
            return true;
    }
    return false;
}

static void read_cmdline(const char *pid, char *line, size_t size)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%s/cmdline", pid);
    FILE *f = fopen(path, "re");
    size_t n = f != NULL ? fread(line, 1, size - 1, f) : 0;
    if (f != NULL)
        fclose(f);
    line[n] = '\0';
    for (size_t i = 0; i < n; i++)
        line[i] = line[i] == '\0' ? '\n' : line[i];
}

static void end_helpers(const struct bed *bed)
{
    DIR *proc = opendir("/proc");
    for (struct dirent *d; proc != NULL && (d = readdir(proc)) != NULL;) {
        char line[1024];
        if (d->d_name[0] < '0' || d->d_name[0] > '9')
            continue;
        read_cmdline(d->d_name, line, sizeof line);
        if (!is_ours(bed, line))
            continue;
        struct ident id = ident_of((pid_t)atoi(d->d_name));
        ident_end(&id, END_MS);
    }
    if (proc != NULL)
        closedir(proc);
}

// What a shim wrote down: its container dies with it, and we wait for that.
static int end_containers(const struct bed *bed, struct err *err)
{
    CLEANUP_FREE char *dir = bed_path(bed, "pods");
    DIR *pods = opendir(dir);
    int rc = 0;
    for (struct dirent *d; pods != NULL && (d = readdir(pods)) != NULL;) {
        struct pod pod = {.name = d->d_name};
        struct ident id = pod_container(bed, &pod);
        if (d->d_name[0] == '.' || ident_end(&id, END_MS))
            continue;
        err_set(err, "process %d, pid 1 of pod %s, is there %d ms after SIGKILL",
                (int)id.pid, d->d_name, (int)END_MS);
        rc = -1;
    }
    if (pods != NULL)
        closedir(pods);
    return rc;
}

int down_bed(const char *name, struct err *err)
{
    struct bed *bed = bed_create(name, err);
    if (bed == NULL)
        return -1;
    // Whoever holds the lock longer than this has hung; the bed goes all the same.
    CLEANUP_CLOSE int lock = file_exists(bed->dir) ? bed_lock(name, LOCK_MS, NULL) : -1;
    end_helpers(bed);
    int rc = cgroup_end(bed, err);
    if (rc == 0)
        rc = end_containers(bed, err);
    if (rc == 0)
        rc = file_remove_tree(bed->dir, err);
    rmdir(BED_ROOT); // the last bed takes it along
    bed_destroy(bed);
    return rc;
}

int down_all(struct err *err)
{
    STRV_AUTO names = STRV_INIT;
    DIR *dir = opendir(BED_ROOT);
    for (struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;)
        if (d->d_name[0] != '.')
            strv_add(&names, d->d_name);
    if (dir != NULL)
        closedir(dir);
    int rc = 0;
    for (size_t i = 0; i < names.n; i++)
        rc = down_bed(names.v[i], err) < 0 ? -1 : rc;
    return rc;
}

int cmd_down(const char *bed, int argc, char **argv, struct err *err)
{
    if (argc == 2 && strcmp(argv[1], "--all") == 0)
        return down_all(err);
    if (argc != 1)
        return cmd_usage(argv[0], "want nothing or --all", err);
    return down_bed(bed, err);
}
