// Whole files, or an error.
#include "hostfile/slurp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"

enum { STEP = 1 << 16 };

static int fail_errno(const char *path, int why, struct err *err)
{
    bool missing = why == ENOENT || why == ENOTDIR;
    const char *kind = missing ? "HF_NOT_FOUND" : "HF_UNREADABLE";
    err_set_kind(err, kind, 0, "%s: %s: %s", path, kind, strerror(why));
    return -1;
}

// Makes room for the whole of a regular file.
static int check_kind(const char *path, int fd, struct buf *out, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return fail_errno(path, errno, err);
    if (S_ISREG(st.st_mode) && st.st_size <= SLURP_MAX)
        buf_reserve(out, (size_t)st.st_size + STEP);
    if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))
        return 0;
    err_set_kind(err, "HF_NOT_A_FILE", 0, "%s: HF_NOT_A_FILE: it is a %s, not a file",
                 path, S_ISDIR(st.st_mode) ? "directory" : "device or socket");
    return -1;
}

static int read_to_end(const char *path, int fd, struct buf *out, struct err *err)
{
    uint64_t until = loop_now_ms() + SLURP_WAIT_MS;
    for (;;) {
        if (buf_len(out) > SLURP_MAX) {
            err_set_kind(err, "HF_TOO_BIG", 0,
                         "%s: HF_TOO_BIG: it is larger than %d MiB", path,
                         SLURP_MAX >> 20);
            return -1;
        }
        ssize_t n = read(fd, buf_reserve(out, STEP), STEP);
        if (n == 0)
            return 0;
        if (n > 0)
            buf_commit(out, (size_t)n);
        else if (errno == EAGAIN && loop_now_ms() < until)
            poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 100);
        else if (errno == EAGAIN)
            return fail_errno(path, ETIMEDOUT, err);
        else if (errno != EINTR)
            return fail_errno(path, errno, err);
    }
}

int slurp(const char *path, struct buf *out, struct err *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_errno(path, errno, err);
    if (check_kind(path, fd, out, err) < 0)
        return -1;
    return read_to_end(path, fd, out, err);
}
