// Memory of a GPU that is none: the host may not touch it, the stand-ins for NVIDIA's libraries
// do, through /proc/self/mem.
#ifndef MUSTER_TESTS_UNIT_STANDIN_MEMORY_H
#define MUSTER_TESTS_UNIT_STANDIN_MEMORY_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static inline int standin_fd(void)
{
    static int fd = -1;
    if (fd < 0)
        fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        perror("stand-in: /proc/self/mem");
        abort();
    }
    return fd;
}

// False: some of it is not there.
static inline bool standin_get(void *to, const void *from, size_t bytes)
{
    return pread(standin_fd(), to, bytes, (off_t)(size_t)from) == (ssize_t)bytes;
}

static inline bool standin_put(void *to, const void *from, size_t bytes)
{
    return pwrite(standin_fd(), from, bytes, (off_t)(size_t)to) == (ssize_t)bytes;
}

// Can this process read it? Then it is the host's.
static inline bool standin_is_host(const void *p)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(size_t)p, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

#endif
