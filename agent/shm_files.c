// One look through a directory, without its subdirectories.
#include "agent/shm_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
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

struct timespec shm_files_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now;
}

static bool is_since(const struct statx *st, const struct timespec *since)
{
    const struct statx_timestamp *made =
        (st->stx_mask & STATX_BTIME) != 0 ? &st->stx_btime : &st->stx_ctime;
    return made->tv_sec > since->tv_sec ||
           (made->tv_sec == since->tv_sec && made->tv_nsec >= since->tv_nsec);
}

static void look_at(int dir, const char *name, const struct timespec *since,
                    struct found *f)
{
    struct statx st;
    if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &st) <
            0 ||
        !S_ISREG(st.stx_mode) || !is_since(&st, since))
        return;
    f->bytes += st.stx_blocks * BLOCK;
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

void shm_files_name(const char *path, const struct timespec *since,
                    struct strv *findings)
{
    struct found f = {.names = BUF_INIT};
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;)
        look_at(dirfd(dir), d->d_name, since, &f);
    if (dir != NULL)
        closedir(dir);
    if (f.n > 0)
        tell(path, &f, findings);
    buf_free(&f.names);
}
