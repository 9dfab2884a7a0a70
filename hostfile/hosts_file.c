// Reading, locking, writing and comparing.
#include "hostfile/hosts_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/hosts_block.h"
#include "hostfile/hosts_diff.h"
#include "hostfile/hosts_plan.h"
#include "hostfile/slurp.h"

enum {
    TRIES = 3,      // a foreign write may come between ours and reading it back
    REST_MS = 1000, // longer than anybody stops in the middle of a line
};

struct resting {
    size_t off;
    uint64_t since;
};

struct hosts_file {
    char *path;
    int fd;
    struct buf image;        // the file as it was when it was as wanted
    struct resting *resting; // retired lines, the oldest first
    size_t nresting;
};

// ---- errors -----------------------------------------------------------------------

static int fail(const char *path, int why, const char *doing, struct err *err)
{
    bool readonly = why == EROFS || why == EACCES || why == EPERM;
    const char *kind = why == ENOENT || why == ENOTDIR  ? "HOSTS_NOT_FOUND"
                       : readonly                       ? "HOSTS_READONLY"
                       : why == ENOSPC || why == EDQUOT ? "HOSTS_NO_SPACE"
                                                        : "HOSTS_UNREADABLE";
    const char *hint =
        readonly ? "; only root can change it, and only where it is mounted writable"
        : why == ENOSPC || why == EDQUOT ? "; what fits is in it, in whole lines"
                                         : "";
    err_set_kind(err, kind, 0, "%s: %s: %s: %s%s", path, kind, doing, strerror(why),
                 hint);
    return -1;
}

static int fail_busy(const char *path, struct err *err)
{
    err_set_kind(err, "HOSTS_BUSY", 0,
                 "%s: HOSTS_BUSY: another process keeps this file: end the second "
                 "muster-sidecar (or musterd --hosts) of this pod",
                 path);
    return -1;
}

// ---- opening ----------------------------------------------------------------------

static int open_locked(const char *path, struct err *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat st;
    CLEANUP_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno != EISDIR)
        return fail(path, errno, "cannot be opened for writing", err);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        err_set_kind(err, "HOSTS_NOT_A_FILE", 0,
                     "%s: HOSTS_NOT_A_FILE: it is no regular file", path);
        return -1;
    }
    if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
        return errno == EAGAIN || errno == EACCES
                   ? fail_busy(path, err)
                   : fail(path, errno, "cannot be locked", err);
    return mem_steal_fd(&fd);
}

struct hosts_file *hosts_file_open(const char *path, struct err *err)
{
    int fd = open_locked(path, err);
    if (fd < 0)
        return NULL;
    struct hosts_file *f = xcalloc(1, sizeof *f);
    f->path = xstrdup(path);
    f->fd = fd;
    return f;
}

void hosts_file_close(struct hosts_file *f)
{
    if (f == NULL)
        return;
    int saved = errno;
    if (f->fd >= 0)
        close(f->fd);
    buf_free(&f->image);
    free(f->resting);
    free(f->path);
    free(f);
    errno = saved;
}

// The path may name another file by now.
static int reopen(struct hosts_file *f, struct err *err)
{
    struct stat at, held;
    if (stat(f->path, &at) < 0)
        return fail(f->path, errno, "cannot be found", err);
    if (f->fd >= 0 && fstat(f->fd, &held) == 0 && at.st_ino == held.st_ino &&
        at.st_dev == held.st_dev)
        return 0;
    if (f->fd >= 0)
        close(f->fd);
    buf_clear(&f->image);
    f->fd = open_locked(f->path, err);
    return f->fd < 0 ? -1 : 0;
}

// ---- reading and writing ----------------------------------------------------------

static int read_whole(struct hosts_file *f, struct buf *out, struct err *err)
{
    enum { STEP = 1 << 16 };
    buf_clear(out);
    for (;;) {
        ssize_t n = pread(f->fd, buf_reserve(out, STEP), STEP, (off_t)buf_len(out));
        if (n < 0 && errno != EINTR)
            return fail(f->path, errno, "cannot be read", err);
        if (n == 0)
            return 0;
        if (n > 0)
            buf_commit(out, (size_t)n);
        if (buf_len(out) > SLURP_MAX) {
            err_set_kind(err, "HOSTS_UNREADABLE", 0,
                         "%s: HOSTS_UNREADABLE: it is larger than %d MiB", f->path,
                         SLURP_MAX >> 20);
            return -1;
        }
    }
}

static bool is_same(const struct buf *a, const struct buf *b)
{
    return buf_len(a) == buf_len(b) &&
           (buf_len(a) == 0 || memcmp(buf_data(a), buf_data(b), buf_len(a)) == 0);
}

// Room for what comes behind the end, so that no write stops in the middle of a line.
static int reserve(struct hosts_file *f, size_t from, size_t to, struct err *err)
{
    if (to <= from ||
        fallocate(f->fd, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)) == 0)
        return 0;
    if (errno == ENOSPC || errno == EDQUOT)
        return fail(f->path, errno, "cannot be extended", err);
    return 0; // this filesystem has no such thing
}

static size_t end_of(const struct hosts_plan *p)
{
    size_t end = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].off + p->v[i].len > end)
            end = p->v[i].off + p->v[i].len;
    return end;
}

// A write that was cut short behind the old end of the file is taken back.
static int fail_write(struct hosts_file *f, size_t off, ssize_t n, struct err *err)
{
    int why = n < 0 ? errno : ENOSPC;
    struct stat st;
    if (n > 0 && fstat(f->fd, &st) == 0 && (size_t)st.st_size == off + (size_t)n &&
        ftruncate(f->fd, (off_t)off) < 0)
        why = errno;
    return fail(f->path, why, "cannot be written", err);
}

// What comes behind the end is appended, wherever the end is by then: it can never fall
// onto lines that somebody wrote in between.
static ssize_t write_one(struct hosts_file *f, const char *bytes, size_t n, size_t off,
                         bool append)
{
    int flags = fcntl(f->fd, F_GETFL);
    ssize_t done = -1;
    if (flags < 0 || (append && fcntl(f->fd, F_SETFL, flags | O_APPEND) < 0))
        return -1;
    do
        done = pwrite(f->fd, bytes, n, (off_t)off);
    while (done < 0 && errno == EINTR);
    int saved = errno;
    if (append)
        fcntl(f->fd, F_SETFL, flags);
    errno = saved;
    return done;
}

// 1: the file is not what the plan was made for any more.
static int write_plan(struct hosts_file *f, const struct hosts_plan *p, size_t size,
                      struct err *err)
{
    struct stat st;
    if (reserve(f, size, end_of(p), err) < 0)
        return -1;
    for (size_t i = 0; i < p->n; i++) {
        const struct hosts_write *w = &p->v[i];
        if (fstat(f->fd, &st) < 0 || (size_t)st.st_size != size)
            return 1;
        ssize_t n =
            write_one(f, hosts_plan_bytes(p, i), w->len, w->off, w->off >= size);
        if (n != (ssize_t)w->len)
            return fail_write(f, w->off, n, err);
        size = w->off + w->len > size ? w->off + w->len : size;
    }
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void list_resting(struct hosts_file *f, struct hosts_offsets *out)
{
    size_t rested = 0;
    uint64_t now = loop_now_ms();
    while (rested < f->nresting && now - f->resting[rested].since >= REST_MS)
        rested++;
    if (rested > 0) {
        f->nresting -= rested;
        memmove(f->resting, f->resting + rested, f->nresting * sizeof *f->resting);
    }
    for (size_t i = 0; i < f->nresting; i++)
        hosts_offsets_add(out, f->resting[i].off);
    if (out->n > 1)
        qsort(out->v, out->n, sizeof *out->v, by_offset);
}

static void let_rest(struct hosts_file *f, const struct hosts_offsets *retired)
{
    if (retired->n == 0)
        return;
    f->resting = xrealloc(f->resting, f->nresting + retired->n, sizeof *f->resting);
    for (size_t i = 0; i < retired->n; i++)
        f->resting[f->nresting++] =
            (struct resting){.off = retired->v[i], .since = loop_now_ms()};
}

static bool has_block(const struct buf *b)
{
    return memmem(buf_data(b), buf_len(b), HOSTS_BEGIN, strlen(HOSTS_BEGIN)) != NULL;
}

static bool is_disturbed(const struct hosts_file *f, const struct buf *now)
{
    return buf_len(&f->image) > 0 && !has_block(now);
}

static enum hosts_result try_sync(struct hosts_file *f, const struct hosts_want *want,
                                  bool settled, bool *again, struct err *err)
{
    BUF_AUTO now = BUF_INIT;
    struct hosts_plan plan;
    *again = false;
    if (read_whole(f, &now, err) < 0)
        return HOSTS_FAILED;
    if (!settled && is_disturbed(f, &now))
        return HOSTS_DISTURBED;
    const char *text = (const char *)buf_data(&now);
    size_t cut = hosts_block_cut(text, buf_len(&now), (const char *)buf_data(&f->image),
                                 buf_len(&f->image));
    struct hosts_offsets resting = {0};
    list_resting(f, &resting);
    hosts_plan(text, buf_len(&now), cut, want, &resting, &plan);
    free(resting.v);
    let_rest(f, &plan.retired);
    size_t n = plan.n;
    int rc = n > 0 ? write_plan(f, &plan, buf_len(&now), err) : 0;
    if (rc >= 0 && n > 0) {
        hosts_plan_apply(&plan, n, &now);
        buf_clear(&f->image);
        buf_append(&f->image, buf_data(&now), buf_len(&now));
        rc = rc > 0 ? rc : read_whole(f, &now, err);
        *again = rc > 0 || !is_same(&now, &f->image);
    } else if (rc == 0 && !is_same(&f->image, &now)) {
        buf_clear(&f->image);
        buf_append(&f->image, buf_data(&now), buf_len(&now));
    }
    hosts_plan_free(&plan);
    return rc < 0 ? HOSTS_FAILED : n > 0 ? HOSTS_WRITTEN : HOSTS_SAME;
}

enum hosts_result hosts_file_sync(struct hosts_file *f, const struct hosts_want *want,
                                  bool settled, struct err *err)
{
    bool again, written = false;
    for (int i = 0; i < TRIES; i++) {
        if (reopen(f, err) < 0)
            return HOSTS_FAILED;
        enum hosts_result r = try_sync(f, want, settled, &again, err);
        if (r == HOSTS_FAILED || r == HOSTS_DISTURBED)
            return r;
        written = written || r == HOSTS_WRITTEN;
        if (!again)
            return written ? HOSTS_WRITTEN : HOSTS_SAME;
        settled = false;
    }
    return HOSTS_DISTURBED;
}

// ---- without writing --------------------------------------------------------------

int hosts_file_diff(const char *path, const struct hosts_want *want, struct buf *out,
                    struct err *err)
{
    BUF_AUTO now = BUF_INIT, then = BUF_INIT;
    struct hosts_plan plan;
    if (slurp(path, &now, err) < 0)
        return -1;
    hosts_plan((const char *)buf_data(&now), buf_len(&now), HOSTS_UNCUT, want,
               &(struct hosts_offsets){0}, &plan);
    buf_append(&then, buf_data(&now), buf_len(&now));
    hosts_plan_apply(&plan, plan.n, &then);
    hosts_plan_free(&plan);
    hosts_diff(&now, &then, out);
    return 0;
}

bool hosts_file_is_pods(const char *path, struct err *err)
{
    static const char ours[] = "# Kubernetes-managed hosts file.";
    static const char host[] = "# Kubernetes-managed hosts file (host network).";
    BUF_AUTO now = BUF_INIT;
    if (slurp(path, &now, err) < 0)
        return false;
    const char *text = (const char *)buf_data(&now);
    if (buf_len(&now) > strlen(ours) && memcmp(text, ours, strlen(ours)) == 0 &&
        text[strlen(ours)] == '\n')
        return true;
    bool node = buf_len(&now) > strlen(host) && memcmp(text, host, strlen(host)) == 0;
    err_set_kind(err, "HOSTS_FOREIGN_FILE", 0,
                 "%s: HOSTS_FOREIGN_FILE: %s; to change it all the same give "
                 "--hosts=%s, else write hostfiles with addresses (--write)",
                 path,
                 node ? "it is that of the node (this pod has hostNetwork)"
                      : "kubelet did not make it for this pod: it may be that of the "
                        "machine",
                 path);
    return false;
}
