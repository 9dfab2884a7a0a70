// A growing byte buffer that is filled at the end and taken from the front.
#ifndef MUSTER_COMMON_BUF_H
#define MUSTER_COMMON_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
    uint8_t *mem; // owned
    size_t start; // first byte not yet taken
    size_t end;   // one past the last byte
    size_t cap;
};

#define BUF_INIT                                                                       \
    {                                                                                  \
        0                                                                              \
    }
#define BUF_AUTO __attribute__((cleanup(buf_free))) struct buf

static inline size_t buf_len(const struct buf *b)
{
    return b->end - b->start;
}

static inline uint8_t *buf_data(const struct buf *b)
{
    return b->start > 0 ? b->mem + b->start : b->mem; // NULL: nothing was ever in it
}

void buf_append(struct buf *b, const void *p, size_t n);
void buf_append_str(struct buf *b, const char *s); // without the final NUL
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
// Room for n bytes at the end; fill it, then buf_commit() what was used.
uint8_t *buf_reserve(struct buf *b, size_t n);
void buf_commit(struct buf *b, size_t n);
// Drop n bytes (at most buf_len) from the front. Memory of a drained big buffer is
// given back.
void buf_take(struct buf *b, size_t n);
// The content as a C string, owned by the caller; the buffer is empty afterwards.
char *buf_steal_str(struct buf *b);
void buf_clear(struct buf *b);
void buf_free(struct buf *b);

#endif
