// Volumes that change under the reader as kubelet changes them.
#include "tests/podbox/volume.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/strv.h"
#include "tests/podbox/file.h"

static const char link_name[] = "..data";

char *volume_dir(const struct bed *bed, const char *name)
{
    return xasprintf("%s/volumes/%s/mount", bed->dir, name);
}

static char *mode_path(const struct bed *bed, const char *name)
{
    return xasprintf("%s/volumes/%s/mode", bed->dir, name);
}

static mode_t mode_of(const struct bed *bed, const char *name)
{
    CLEANUP_FREE char *path = mode_path(bed, name);
    CLEANUP_FREE char *text = file_read(path, NULL);
    return text != NULL ? (mode_t)strtoul(text, NULL, 8) : 0644;
}

// The names in a directory, but "." and ".."; with hidden ones only on demand.
static int list(const char *dir, bool hidden, struct strv *names, struct err *err)
{
    DIR *d = opendir(dir);
    if (d == NULL) {
        err_set_errno(err, errno, "cannot read directory %s", dir);
        return -1;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        bool dots = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        if (!dots && (hidden || strncmp(e->d_name, "..", 2) != 0))
            strv_add(names, e->d_name);
    }
    closedir(d);
    return 0;
}

static int chmod_all(const char *dir, mode_t mode, struct err *err)
{
    CLEANUP_FREE char *data = xasprintf("%s/%s", dir, link_name);
    STRV_AUTO names = STRV_INIT;
    if (!file_exists(data))
        return 0;
    if (list(data, false, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", data, names.v[i]);
        if (chmod(path, mode) < 0) {
            err_set_errno(err, errno, "cannot change the mode of %s", path);
            return -1;
        }
    }
    return 0;
}

int volume_make(const struct bed *bed, const char *name, mode_t mode, struct err *err)
{
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL) {
        err_set_kind(err, NULL, BED_EXIT_USAGE,
                     "volume name '%s': want a name without '/' and no '.' first",
                     name);
        return -1;
    }
    CLEANUP_FREE char *dir = volume_dir(bed, name), *mode_file = mode_path(bed, name);
    CLEANUP_FREE char *text = xasprintf("%04o\n", (unsigned)mode);
    if (file_mkdirs(dir, 0755, err) < 0)
        return -1;
    if (mode == 0)
        return 0;
    return file_write(mode_file, text, 0644, err) < 0 ? -1 : chmod_all(dir, mode, err);
}

// ---- put --------------------------------------------------------------------

static bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    if (stat(a, &sa) < 0 || stat(b, &sb) < 0 || sa.st_size != sb.st_size)
        return false;
    CLEANUP_FREE char *ta = file_read(a, NULL), *tb = file_read(b, NULL);
    return ta != NULL && tb != NULL && memcmp(ta, tb, strlen(ta)) == 0 &&
           strlen(ta) == (size_t)sa.st_size;
}

static bool unchanged(const char *dir, const char *from, const struct strv *names)
{
    CLEANUP_FREE char *data = xasprintf("%s/%s", dir, link_name);
    STRV_AUTO old = STRV_INIT;
    if (list(data, false, &old, NULL) < 0 || old.n != names->n)
        return false;
    for (size_t i = 0; i < names->n; i++) {
        CLEANUP_FREE char *a = xasprintf("%s/%s", data, names->v[i]);
        CLEANUP_FREE char *b = xasprintf("%s/%s", from, names->v[i]);
        if (!same_file(a, b))
            return false;
    }
    return true;
}

// The new timestamped directory, filled. Its name, or NULL.
static char *fill(const char *dir, const char *from, const struct strv *names,
                  mode_t mode, struct err *err)
{
    char stamp[64];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(stamp, sizeof stamp, "%Y_%m_%d_%H_%M_%S", gmtime_r(&now.tv_sec, &tm));
    CLEANUP_FREE char *name = xasprintf("..%s.%09ld", stamp, now.tv_nsec);
    CLEANUP_FREE char *fresh = xasprintf("%s/%s", dir, name);
    if (mkdir(fresh, 0755) < 0) {
        err_set_errno(err, errno, "cannot make directory %s", fresh);
        return NULL;
    }
    for (size_t i = 0; i < names->n; i++) {
        CLEANUP_FREE char *a = xasprintf("%s/%s", from, names->v[i]);
        CLEANUP_FREE char *b = xasprintf("%s/%s", fresh, names->v[i]);
        if (file_copy(a, b, mode, err) < 0)
            return NULL;
    }
    return STEAL(name);
}

// Put `..data` on the new directory with one rename. The old one's name goes to *old.
static int swap(const char *dir, const char *fresh, char **old, struct err *err)
{
    CLEANUP_FREE char *data = xasprintf("%s/%s", dir, link_name);
    CLEANUP_FREE char *beside = xasprintf("%s/..data_tmp", dir);
    char was[256];
    ssize_t n = readlink(data, was, sizeof was - 1);
    *old = n > 0 ? xstrndup(was, (size_t)n) : NULL;
    unlink(beside);
    if (symlink(fresh, beside) == 0 && rename(beside, data) == 0)
        return 0;
    err_set_errno(err, errno, "cannot swap %s", data);
    return -1;
}

// The links that users see: one for each file, none for those that are gone.
static int relink(const char *dir, const struct strv *names, struct err *err)
{
    for (size_t i = 0; i < names->n; i++) {
        CLEANUP_FREE char *at = xasprintf("%s/%s", dir, names->v[i]);
        CLEANUP_FREE char *to = xasprintf("%s/%s", link_name, names->v[i]);
        if (symlink(to, at) < 0 && errno != EEXIST) {
            err_set_errno(err, errno, "cannot make link %s", at);
            return -1;
        }
    }
    STRV_AUTO seen = STRV_INIT;
    if (list(dir, false, &seen, err) < 0)
        return -1;
    for (size_t i = 0; i < seen.n; i++) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", dir, seen.v[i]);
        struct stat st;
        if (stat(path, &st) < 0)
            unlink(path);
    }
    return 0;
}

int volume_put(const struct bed *bed, const char *name, const char *from, mode_t mode,
               struct err *err)
{
    STRV_AUTO names = STRV_INIT;
    if (list(from, false, &names, err) < 0 || volume_make(bed, name, mode, err) < 0)
        return -1;
    CLEANUP_FREE char *dir = volume_dir(bed, name);
    if (unchanged(dir, from, &names))
        return 0;
    CLEANUP_FREE char *fresh = fill(dir, from, &names, mode_of(bed, name), err);
    CLEANUP_FREE char *old = NULL;
    if (fresh == NULL || swap(dir, fresh, &old, err) < 0 ||
        relink(dir, &names, err) < 0)
        return -1;
    CLEANUP_FREE char *gone = xasprintf("%s/%s", dir, old != NULL ? old : "..none");
    return file_remove_tree(gone, err);
}

int volume_show(const struct bed *bed, const char *name, struct err *err)
{
    CLEANUP_FREE char *dir = volume_dir(bed, name);
    CLEANUP_FREE char *data = xasprintf("%s/%s", dir, link_name);
    STRV_AUTO names = STRV_INIT;
    if (file_exists(data) && list(data, false, &names, err) < 0)
        return -1;
    if (!file_exists(dir)) {
        err_set(err, "bed %s has no volume '%s'", bed->name, name);
        return -1;
    }
    for (size_t i = 0; i < names.n; i++) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", data, names.v[i]);
        CLEANUP_FREE char *text = file_read(path, err);
        if (text == NULL)
            return -1;
        printf("==> %s <==\n%s", names.v[i], text);
    }
    return 0;
}
