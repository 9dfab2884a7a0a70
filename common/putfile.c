// Lock, write beside, rename.
#include "common/putfile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/loop.h"
#include "common/mem.h"

enum { RETRY_MS = 20 };

struct putfile {
    char *name; // as the user says it
    char *path; // without links
    int fd;     // holds the lock
    struct stat st;
};

static int fail(const struct putfile *p, const char *kind, const char *what, int why,
                struct err *err)
{
    err_set_kind(err, kind, 0, "%s: %s: %s%s%s", p->name, kind, what,
                 why != 0 ? ": " : "", why != 0 ? strerror(why) : "");
    return -1;
}

static int fail_errno(const struct putfile *p, int why, struct err *err)
{
    bool missing = why == ENOENT || why == ENOTDIR;
    return fail(p, missing ? "PUT_NOT_FOUND" : "PUT_FAILED", "cannot be opened", why,
                err);
}

// ---- the lock ---------------------------------------------------------------------

// Is what the path leads to what we have open? Who had the lock before may have renamed
// another file over it.
static bool is_current(const struct putfile *p)
{
    struct stat st;
    return stat(p->path, &st) == 0 && st.st_dev == p->st.st_dev &&
           st.st_ino == p->st.st_ino;
}

// 1: locked; 0: somebody else has it, or had it and replaced the file.
static int try_lock(struct putfile *p, struct err *err)
{
    CLEANUP_CLOSE int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &p->st) < 0)
        return fail_errno(p, errno, err);
    if (!S_ISREG(p->st.st_mode))
        return fail(p, "PUT_FAILED", "it is no regular file", 0, err);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? 0 : fail_errno(p, errno, err);
    if (!is_current(p))
        return 0;
    p->fd = mem_steal_fd(&fd);
    return 1;
}

static int take_lock(struct putfile *p, struct err *err)
{
    uint64_t until = loop_now_ms() + PUTFILE_WAIT_MS;
    int rc;
    while ((rc = try_lock(p, err)) == 0 && loop_now_ms() < until)
        poll(NULL, 0, RETRY_MS);
    if (rc == 0)
        return fail(p, "PUT_BUSY", "another process has locked it all the time", 0,
                    err);
    return rc < 0 ? -1 : 0;
}

struct putfile *putfile_open(const char *path, struct err *err)
{
    struct putfile *p = xcalloc(1, sizeof *p);
    p->fd = -1;
    p->name = xstrdup(path);
    p->path = realpath(path, NULL);
    int rc = p->path != NULL ? take_lock(p, err) : fail_errno(p, errno, err);
    if (rc == 0)
        return p;
    putfile_close(p);
    return NULL;
}

void putfile_close(struct putfile *p)
{
    if (p == NULL)
        return;
    if (p->fd >= 0)
        close(p->fd);
    free(p->name);
    free(p->path);
    free(p);
}

// ---- the new content --------------------------------------------------------------

// A file beside the old one, complete and with its mode. The owner is kept where we may.
static int write_fresh(const struct putfile *p, char *fresh, const struct buf *text)
{
    CLEANUP_CLOSE int fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0)
        return -1;
    if ((fchown(fd, p->st.st_uid, p->st.st_gid) < 0 && errno != EPERM) ||
        fchmod(fd, p->st.st_mode & 07777) < 0 ||
        fd_write(fd, buf_data(text), buf_len(text)) < 0 || fsync(fd) < 0) {
        int why = errno;
        unlink(fresh);
        errno = why;
        return -1;
    }
    return 0;
}

static bool was_touched(const struct putfile *p)
{
    struct stat now;
    return stat(p->path, &now) < 0 || now.st_ino != p->st.st_ino ||
           now.st_size != p->st.st_size || now.st_mtim.tv_sec != p->st.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != p->st.st_mtim.tv_nsec;
}

// The directory's entry is on the disk, too, where the file system can do that.
static void sync_directory(const struct putfile *p)
{
    const char *slash = strrchr(p->path, '/');
    size_t len = slash > p->path ? (size_t)(slash - p->path) : 1;
    CLEANUP_FREE char *dir = xstrndup(p->path, len);
    CLEANUP_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        fsync(fd);
}

static int fail_write(const struct putfile *p, int why, struct err *err)
{
    switch (why) {
    case EROFS:
    case EACCES:
    case EPERM:
    case EBUSY: // a mount of its own
        return fail(p, "PUT_READONLY", "cannot be replaced here", why, err);
    default: return fail(p, "PUT_FAILED", "cannot be written", why, err);
    }
}

int putfile_write(struct putfile *p, const struct buf *text, struct err *err)
{
    CLEANUP_FREE char *fresh = xasprintf("%s.XXXXXX", p->path);
    if (write_fresh(p, fresh, text) < 0)
        return fail_write(p, errno, err);
    int rc = was_touched(p)
                 ? fail(p, "PUT_CHANGED",
                        "somebody else has changed it meanwhile: try again", 0, err)
             : rename(fresh, p->path) < 0 ? fail_write(p, errno, err)
                                          : 0;
    if (rc < 0)
        unlink(fresh);
    else
        sync_directory(p);
    return rc;
}
