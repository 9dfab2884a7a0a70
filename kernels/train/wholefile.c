// Read all, write beside, rename.
#include "kernels/train/wholefile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/mem.h"

// ---- get --------------------------------------------------------------------------

static int read_all(int fd, size_t len, struct buf *content)
{
    uint8_t *to = buf_reserve(content, len);
    size_t at = 0;
    while (at < len) {
        ssize_t n = read(fd, to + at, len - at);
        if (n == 0)
            errno = ENODATA; // it has become shorter
        if (n == 0 || (n < 0 && errno != EINTR))
            return -1;
        at += n > 0 ? (size_t)n : 0;
    }
    buf_commit(content, len);
    return 0;
}

int wholefile_get(const char *path, size_t most, struct buf *content, struct err *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 && errno == ENOENT)
        return 1;
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_set_errno(err, errno, "%s cannot be read", path);
        return -1;
    }
    if (!S_ISREG(st.st_mode) || (size_t)st.st_size > most) {
        err_set(err, "%s: %s", path,
                S_ISREG(st.st_mode) ? "it is larger than it can be" : "it is no file");
        return -1;
    }
    if (read_all(fd, (size_t)st.st_size, content) == 0)
        return 0;
    err_set_errno(err, errno, "%s cannot be read", path);
    return -1;
}

// ---- put --------------------------------------------------------------------------

int wholefile_sync_folder(const char *path)
{
    CLEANUP_FREE char *copy = xstrdup(path);
    CLEANUP_CLOSE int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : -1;
}

static int write_synced(const char *path, const struct buf *content)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || fd_write(fd, buf_data(content), buf_len(content)) < 0)
        return -1;
    return fsync(fd);
}

int wholefile_put(const char *path, const struct buf *content, struct err *err)
{
    CLEANUP_FREE char *fresh = xasprintf("%s.tmp", path);
    if (write_synced(fresh, content) == 0 && rename(fresh, path) == 0 &&
        wholefile_sync_folder(path) == 0)
        return 0;
    err_set_errno(err, errno, "%s cannot be written", path);
    unlink(fresh);
    return -1;
}
