// Standard streams of programs that must not wait for their reader.
#include "common/std.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 4096 }; // a pipe that polls writable takes this much without blocking

void std_fill(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static bool writable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int rc;
    do
        rc = poll(&p, 1, ms);
    while (rc < 0 && errno == EINTR);
    return rc > 0;
}

bool std_write(int fd, const void *p, size_t n, int ms)
{
    const uint8_t *at = p;
    while (n > 0 && writable(fd, ms)) {
        ssize_t got = write(fd, at, n < PIECE ? n : PIECE);
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        at += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return n == 0;
}

int std_reopen_nonblock(int fd)
{
    char path[32];
    struct stat st;
    if (fstat(fd, &st) < 0 || (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)))
        return -1; // a regular file's offset is its description's
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
        return -1; // not meant to be written (std_fill)
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}
