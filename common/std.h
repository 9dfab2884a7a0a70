// The standard streams: that they are there, and writes that nobody's not reading can stop.
#ifndef MUSTER_COMMON_STD_H
#define MUSTER_COMMON_STD_H

#include <stdbool.h>
#include <stddef.h>

// Fills what is closed of fds 0, 1 and 2, so that no other file gets these numbers: reading
// gives the end, writing EBADF. First thing in main().
void std_fill(void);

// Writes all, waiting at most `ms` each time that the reader takes nothing. Returns false
// when not all was written.
bool std_write(int fd, const void *p, size_t n, int ms);

// The same pipe or terminal as fd, to be written without ever blocking (others may share
// it: their O_NONBLOCK stays as it was); close it. -1: there is no such way to this file.
int std_reopen_nonblock(int fd);

#endif
