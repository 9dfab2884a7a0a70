// Memory that cannot fail, and cleanup attributes for locals.
//
// Small allocations abort when memory is out: nothing sensible can be done then, and
// the error paths would never be tested. Sizes that a peer names must be capped before.
#ifndef MUSTER_COMMON_MEM_H
#define MUSTER_COMMON_MEM_H

#include <stdarg.h>
#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
// Grow to n elements of `size` bytes; aborts on overflow.
void *xrealloc(void *p, size_t n, size_t size);
// Zeroed; `align` is a power of two and a multiple of a pointer's size.
void *xaligned(size_t align, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
void *xmemdup(const void *p, size_t n); // n == 0: a valid pointer
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

// Locals: CLEANUP_FREE char *s = ...; CLEANUP_CLOSE int fd = -1;
void mem_cleanup_free(void *pp);
void mem_cleanup_close(int *fd); // keeps errno; -1: nothing
#define CLEANUP_FREE  __attribute__((cleanup(mem_cleanup_free)))
#define CLEANUP_CLOSE __attribute__((cleanup(mem_cleanup_close)))

// The fd; *fd is -1 afterwards, so that its cleanup does nothing.
int mem_steal_fd(int *fd);
// Take the value out of a local with a cleanup attribute.
#define STEAL(p)                                                                       \
    ({                                                                                 \
        __typeof__(p) steal_ = (p);                                                    \
        (p) = NULL;                                                                    \
        steal_;                                                                        \
    })

#endif
