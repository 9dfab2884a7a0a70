// Whole writes.
#include "common/fd.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

int fd_write(int fd, const void *p, size_t n)
{
    const uint8_t *at = p;
    while (n > 0) {
        ssize_t put = write(fd, at, n);
        if (put < 0 && errno != EINTR)
            return -1;
        at += put > 0 ? put : 0;
        n -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}
