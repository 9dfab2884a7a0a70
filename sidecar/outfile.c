// Lock, write beside, rename.
#include "sidecar/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/mem.h"
#include "hostfile/slurp.h"

struct outfile {
    char *path, *fresh;
    int lock;
};

static int fail(const char *path, int why, const char *doing, struct err *err)
{
    const char *kind = "OUT_FAILED", *hint = "";
    switch (why) {
    case ENOENT:
    case ENOTDIR:
        kind = "OUT_NO_DIRECTORY";
        hint = "; mount an emptyDir there";
        break;
    case EROFS:
    case EACCES:
    case EPERM:
        kind = "OUT_READONLY";
        hint = "; ConfigMaps and Secrets are mounted read-only: write to an emptyDir";
        break;
    case ENOSPC:
    case EDQUOT: kind = "OUT_NO_SPACE"; break;
    default: break;
    }
    err_set_kind(err, kind, 0, "%s: %s: %s: %s%s", path, kind, doing, strerror(why),
                 hint);
    return -1;
}

// The path of a hidden file beside `path`. Caller frees.
static char *beside(const char *path, const char *end)
{
    const char *slash = strrchr(path, '/');
    int dir = slash != NULL ? (int)(slash - path) + 1 : 0;
    return xasprintf("%.*s.%s.%s", dir, path, path + dir, end);
}

static int take_lock(const char *path, struct err *err)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    CLEANUP_FREE char *name = beside(path, "lock");
    CLEANUP_CLOSE int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return fail(path, errno, "cannot be written here", err);
    if (fcntl(fd, F_OFD_SETLK, &all) == 0)
        return mem_steal_fd(&fd);
    if (errno != EAGAIN && errno != EACCES)
        return fail(path, errno, "cannot be locked", err);
    err_set_kind(
        err, "OUT_BUSY", 0,
        "%s: OUT_BUSY: another process keeps this file (it holds %s): end it, or "
        "write elsewhere",
        path, name);
    return -1;
}

struct outfile *outfile_create(const char *path, struct err *err)
{
    int lock = take_lock(path, err);
    if (lock < 0)
        return NULL;
    struct outfile *o = xcalloc(1, sizeof *o);
    o->path = xstrdup(path);
    o->fresh = beside(path, "new");
    o->lock = lock;
    return o;
}

void outfile_destroy(struct outfile *o)
{
    if (o == NULL)
        return;
    close(o->lock);
    free(o->path);
    free(o->fresh);
    free(o);
}

void outfile_remove(struct outfile *o)
{
    unlink(o->path);
}

bool outfile_is_kept(const char *path)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    CLEANUP_FREE char *name = beside(path, "lock");
    CLEANUP_CLOSE int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

static int write_fresh(const struct outfile *o, const struct buf *text)
{
    CLEANUP_CLOSE int fd =
        open(o->fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return -1;
    return fd_write(fd, buf_data(text), buf_len(text));
}

int outfile_put(struct outfile *o, const struct buf *text, struct err *err)
{
    BUF_AUTO now = BUF_INIT;
    if (slurp(o->path, &now, NULL) == 0 && buf_len(&now) == buf_len(text) &&
        memcmp(buf_data(&now), buf_data(text), buf_len(text)) == 0)
        return 0;
    if (write_fresh(o, text) == 0 && rename(o->fresh, o->path) == 0)
        return 1;
    int why = errno;
    unlink(o->fresh);
    return fail(o->path, why, "cannot be written", err);
}
