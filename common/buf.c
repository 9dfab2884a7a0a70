// Byte buffer: append at the end, take from the front.
#include "common/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

enum { KEEP_WHEN_EMPTY = 256 * 1024 };

uint8_t *buf_reserve(struct buf *b, size_t n)
{
    if (b->cap - b->end >= n && b->mem != NULL)
        return b->mem + b->end;
    size_t len = buf_len(b);
    // Move to the front when that frees enough and costs little, else grow.
    if (b->mem != NULL && b->start >= len && b->cap - len >= n) {
        memcpy(b->mem, b->mem + b->start, len);
    } else {
        size_t cap = b->cap < 256 ? 256 : b->cap;
        while (cap - len < n)
            cap *= 2;
        uint8_t *mem = xmalloc(cap);
        if (b->mem != NULL)
            memcpy(mem, b->mem + b->start, len);
        free(b->mem);
        b->mem = mem;
        b->cap = cap;
    }
    b->start = 0;
    b->end = len;
    return b->mem + b->end;
}

void buf_commit(struct buf *b, size_t n)
{
    b->end += n;
}

void buf_append(struct buf *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    memcpy(buf_reserve(b, n), p, n);
    b->end += n;
}

void buf_append_str(struct buf *b, const char *s)
{
    buf_append(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *s = xvasprintf(fmt, ap);
    va_end(ap);
    buf_append_str(b, s);
}

void buf_take(struct buf *b, size_t n)
{
    b->start += n;
    if (b->start < b->end)
        return;
    b->start = b->end = 0;
    if (b->cap > KEEP_WHEN_EMPTY)
        buf_free(b);
}

char *buf_steal_str(struct buf *b)
{
    char *s = xstrndup(b->mem != NULL ? (char *)buf_data(b) : "", buf_len(b));
    buf_free(b);
    return s;
}

void buf_clear(struct buf *b)
{
    b->start = b->end = 0;
}

void buf_free(struct buf *b)
{
    free(b->mem);
    *b = (struct buf)BUF_INIT;
}
