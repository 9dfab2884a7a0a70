// Read, write and remove small files.
#include "tests/podbox/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"

char *file_read(const char *path, struct err *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        err_set_errno(err, errno, "cannot read %s", path);
        return NULL;
    }
    BUF_AUTO b = BUF_INIT;
    ssize_t n;
    while ((n = read(fd, buf_reserve(&b, 4096), 4096)) > 0)
        buf_commit(&b, (size_t)n);
    if (n < 0) {
        err_set_errno(err, errno, "cannot read %s", path);
        return NULL;
    }
    return buf_steal_str(&b);
}

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0)
            return -1;
        text += n;
        len -= (size_t)n;
    }
    return 0;
}

static int write_file(const char *path, const char *text, size_t len, mode_t mode,
                      struct err *err)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 ||
        ((st.st_mode & 07777) != mode && fchmod(fd, mode) < 0) ||
        write_all(fd, text, len) < 0) {
        err_set_errno(err, errno, "cannot write %s", path);
        return -1;
    }
    return 0;
}

int file_write(const char *path, const char *text, mode_t mode, struct err *err)
{
    return write_file(path, text, strlen(text), mode, err);
}

int file_replace(const char *path, const char *text, mode_t mode, struct err *err)
{
    CLEANUP_FREE char *beside = xasprintf("%s.%d", path, (int)getpid());
    if (file_write(beside, text, mode, err) < 0)
        return -1;
    if (rename(beside, path) == 0)
        return 0;
    err_set_errno(err, errno, "cannot rename %s to %s", beside, path);
    unlink(beside);
    return -1;
}

int file_copy(const char *from, const char *to, mode_t mode, struct err *err)
{
    CLEANUP_CLOSE int fd = open(from, O_RDONLY | O_CLOEXEC);
    BUF_AUTO b = BUF_INIT;
    ssize_t n = -1;
    while (fd >= 0 && (n = read(fd, buf_reserve(&b, 65536), 65536)) > 0)
        buf_commit(&b, (size_t)n);
    if (n < 0) {
        err_set_errno(err, errno, "cannot read %s", from);
        return -1;
    }
    return write_file(to, (const char *)buf_data(&b), buf_len(&b), mode, err);
}

int file_mkdirs(const char *path, mode_t mode, struct err *err)
{
    CLEANUP_FREE char *part = xstrdup(path);
    for (char *p = part + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char saved = *p;
        *p = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST) {
            err_set_errno(err, errno, "cannot make directory %s", part);
            return -1;
        }
        *p = saved;
        if (saved == '\0')
            return 0;
    }
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

int file_remove_tree(const char *path, struct err *err)
{
    if (!file_exists(path))
        return 0;
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0) {
        err_set_errno(err, errno, "cannot remove %s", path);
        return -1;
    }
    return 0;
}

bool file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}
