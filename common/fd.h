// File descriptors.
#ifndef MUSTER_COMMON_FD_H
#define MUSTER_COMMON_FD_H

#include <stddef.h>

// Writes all of it to a file; what a reader can hold up has std_write(). 0, or -1 with errno.
int fd_write(int fd, const void *p, size_t n);

#endif
