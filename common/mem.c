// Allocation that aborts when memory is out.
#include "common/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *p)
{
    if (p == NULL) {
        static const char text[] = "out of memory\n";
        ssize_t n = write(2, text, sizeof text - 1);
        (void)n;
        abort();
    }
    return p;
}

void *xmalloc(size_t size)
{
    return checked(malloc(size > 0 ? size : 1));
}

void *xaligned(size_t align, size_t size)
{
    void *p = NULL;
    size = size > 0 ? size : 1;
    if (posix_memalign(&p, align, size) != 0)
        p = NULL;
    return memset(checked(p), 0, size);
}

void *xcalloc(size_t n, size_t size)
{
    return checked(calloc(n > 0 ? n : 1, size > 0 ? size : 1));
}

void *xrealloc(void *p, size_t n, size_t size)
{
    return checked(reallocarray(p, n > 0 ? n : 1, size));
}

char *xstrdup(const char *s)
{
    return checked(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
    return checked(strndup(s, n));
}

void *xmemdup(const void *p, size_t n)
{
    void *copy = xmalloc(n);
    if (n > 0)
        memcpy(copy, p, n);
    return copy;
}

char *xvasprintf(const char *fmt, va_list ap)
{
    char *s = NULL;
    if (vasprintf(&s, fmt, ap) < 0)
        s = NULL;
    return checked(s);
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = xvasprintf(fmt, ap);
    va_end(ap);
    return s;
}

void mem_cleanup_free(void *pp)
{
    free(*(void **)pp);
}

void mem_cleanup_close(int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

int mem_steal_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}
