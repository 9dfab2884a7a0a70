// /proc/meminfo and the cgroups' limits.
#include "kernels/check/memroom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

enum { TEXT_MAX = 256 * 1024 };

static char *read_text(const char *root, const char *path)
{
    CLEANUP_FREE char *name = xasprintf("%s%s", root, path);
    FILE *f = fopen(name, "re");
    if (f == NULL)
        return NULL;
    char *text = xmalloc(TEXT_MAX + 1);
    text[fread(text, 1, TEXT_MAX, f)] = '\0';
    fclose(f);
    return text;
}

// The number behind `key` at the begin of a line; false: there is none.
static bool number_of(const char *text, const char *key, uint64_t *value)
{
    size_t n = strlen(key);
    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n' ? 1 : 0;
        if (strncmp(at, key, n) != 0)
            continue;
        char *end;
        *value = strtoull(at + n, &end, 10);
        return end != at + n;
    }
    return false;
}

// The two ways in which the kernel says the same.
static const struct version {
    const char *line; // of /proc/self/cgroup: what stands before the path
    const char *mounts[2];
    const char *limits[2];
    const char *usage;
    const char *cache; // in memory.stat
} versions[] = {
    {":memory:",
     {"/sys/fs/cgroup/memory", NULL},
     {"memory.limit_in_bytes", NULL},
     "memory.usage_in_bytes",
     "total_inactive_file "},
    {"0::",
     {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"},
     {"memory.max", "memory.high"},
     "memory.current",
     "inactive_file "},
};

static bool number_in(const char *root, const char *dir, const char *file,
                      const char *key, uint64_t *value)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, file);
    CLEANUP_FREE char *text = read_text(root, path);
    return text != NULL && number_of(text, key, value); // "max" is no number
}

// One cgroup's own limits; false: it has none, or is not there.
static bool room_of(const char *root, const struct version *v, const char *dir,
                    uint64_t *room)
{
    uint64_t usage = 0, cache = 0, limit = 0;
    bool limited = false;
    if (!number_in(root, dir, v->usage, "", &usage))
        return false;
    number_in(root, dir, "memory.stat", v->cache, &cache);
    usage -= cache < usage ? cache : usage;
    for (unsigned i = 0; i < 2 && v->limits[i] != NULL; i++) {
        if (!number_in(root, dir, v->limits[i], "", &limit))
            continue;
        uint64_t left = limit > usage ? limit - usage : 0;
        if (!limited || left < *room)
            *room = left;
        limited = true;
    }
    return limited;
}

// `path` and what is above it. In a container the path can be the host's, and the mount its
// own cgroup: then only the last step finds files.
static void look_upwards(const char *root, const struct version *v, const char *mount,
                         const char *path, uint64_t *least)
{
    CLEANUP_FREE char *dir = xasprintf("%s%s", mount, path);
    for (;;) {
        uint64_t room = 0;
        if (room_of(root, v, dir, &room) && room < *least)
            *least = room;
        char *slash = strrchr(dir, '/');
        if (strlen(dir) <= strlen(mount) || slash == NULL)
            return;
        *slash = '\0';
    }
}

static void look_at_version(const char *root, const struct version *v,
                            const char *cgroups, uint64_t *least)
{
    const char *line = strstr(cgroups, v->line);
    if (line == NULL)
        return;
    line += strlen(v->line);
    CLEANUP_FREE char *path = xstrndup(line, strcspn(line, "\n"));
    for (unsigned i = 0; i < 2 && v->mounts[i] != NULL; i++)
        look_upwards(root, v, v->mounts[i], path, least);
}

int memroom_read(const char *root, uint64_t *bytes, struct err *err)
{
    CLEANUP_FREE char *info = read_text(root, "/proc/meminfo");
    CLEANUP_FREE char *cgroups = read_text(root, "/proc/self/cgroup");
    uint64_t kib;
    if (info == NULL || !number_of(info, "MemAvailable:", &kib)) {
        err_set(err, "%s/proc/meminfo does not say MemAvailable", root);
        return -1;
    }
    *bytes = kib * 1024;
    for (size_t i = 0; cgroups != NULL && i < sizeof versions / sizeof *versions; i++)
        look_at_version(root, &versions[i], cgroups, bytes);
    return 0;
}

static double unit_of(const char *text)
{
    static const char units[] = "KMGT";
    const char *at = *text != '\0' ? strchr(units, *text) : NULL;
    double unit = 1;
    if (*text == '\0')
        return 1;
    if (at == NULL || text[1] != '\0')
        return 0;
    for (; at >= units; at--)
        unit *= 1024;
    return unit;
}

bool memroom_parse(const char *text, struct memroom_share *share)
{
    char *end;
    double v = strtod(text, &end), unit;
    if (end == text || !(v > 0 && v < 1e18))
        return false;
    share->percent = strcmp(end, "%") == 0;
    unit = share->percent ? 1 : unit_of(end);
    share->value = v * unit;
    return unit > 0 && (!share->percent || v <= MEMROOM_MAX_PERCENT);
}

int memroom_take(const struct memroom_share *share, uint64_t room, uint64_t *bytes,
                 struct err *err)
{
    double most = (double)room * MEMROOM_MAX_PERCENT / 100;
    double want = share->percent ? (double)room * share->value / 100 : share->value;
    if (want > most) {
        err_set(err,
                "%.0f MiB are wanted, and %.0f MiB (%d %% of what is free here) can be "
                "had: give less with --memory",
                want / 1048576, most / 1048576, MEMROOM_MAX_PERCENT);
        return -1;
    }
    *bytes = (uint64_t)want;
    return 0;
}
