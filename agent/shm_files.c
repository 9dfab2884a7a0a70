// Looks through a directory, without its subdirectories.
#include "agent/shm_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/strv.h"

enum { SHOWN = 3, BLOCK = 512 }; // st_blocks counts in those

struct found {
    size_t n;
    uint64_t bytes;
    struct buf names;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// A file that was made anew under the name of another has another inode, most times.
static char *key_of(const struct dirent *d)
{
    return xasprintf("%ju %s", (uintmax_t)d->d_ino, d->d_name);
}

void shm_files_list(const char *path, struct strv *now)
{
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;)
        strv_add_steal(now, key_of(d));
    if (dir != NULL)
        closedir(dir);
    if (now->n > 0)
        qsort(now->v, now->n, sizeof *now->v, by_text);
}

static bool is_in(const struct strv *list, const struct dirent *d)
{
    CLEANUP_FREE char *key = key_of(d);
    return list->n > 0 &&
           bsearch(&key, list->v, list->n, sizeof *list->v, by_text) != NULL;
}

static void look_at(int dir, const char *name, struct found *f)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return;
    f->bytes += (uint64_t)st.st_blocks * BLOCK;
    if (f->n++ < SHOWN)
        buf_printf(&f->names, "%s%s", f->n > 1 ? ", " : "", name);
}

static void tell(const char *path, struct found *f, struct strv *findings)
{
    if (f->n > SHOWN)
        buf_printf(&f->names, " and %zu more", f->n - SHOWN);
    CLEANUP_FREE char *names = buf_steal_str(&f->names);
    strv_addf(
        findings,
        "%s has %zu file%s of %.1f MiB that %s made while the ranks ran, and that no "
        "rank can use any more: %s; remove what no other container uses",
        path, f->n, f->n == 1 ? "" : "s", (double)f->bytes / (1 << 20),
        f->n == 1 ? "was" : "were", names);
}

void shm_files_name(const char *path, const struct strv *before, struct strv *findings)
{
    struct found f = {.names = BUF_INIT};
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;)
        if (!is_in(before, d))
            look_at(dirfd(dir), d->d_name, &f);
    if (dir != NULL)
        closedir(dir);
    if (f.n > 0)
        tell(path, &f, findings);
    buf_free(&f.names);
}
