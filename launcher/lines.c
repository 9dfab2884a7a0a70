// Whole lines with prefixes, and the tail of a stream.
#include "launcher/lines.h"

#include <stdbool.h>
#include <string.h>

static void keep_tail(struct lines *l, const void *p, size_t n)
{
    if (n > LINES_TAIL_MAX) {
        p = (const char *)p + n - LINES_TAIL_MAX;
        n = LINES_TAIL_MAX;
    }
    buf_append(&l->tail, p, n);
    if (buf_len(&l->tail) > LINES_TAIL_MAX)
        buf_take(&l->tail, buf_len(&l->tail) - LINES_TAIL_MAX);
}

static void take_held(struct lines *l, const char *prefix, struct buf *out)
{
    if (prefix[0] != '\0')
        buf_append_str(out, prefix);
    buf_append(out, l->held.mem + l->held.start, buf_len(&l->held));
    buf_free(&l->held);
}

// Without a prefix whole lines need not be looked at one by one.
static void add_whole(const char *prefix, const char *p, size_t n, struct buf *out)
{
    while (prefix[0] != '\0' && n > 0) {
        const char *nl = memchr(p, '\n', n);
        size_t len = (size_t)(nl - p) + 1;
        buf_append_str(out, prefix);
        buf_append(out, p, len);
        p += len;
        n -= len;
    }
    buf_append(out, p, n);
}

void lines_feed(struct lines *l, const char *prefix, const void *data, size_t n,
                struct buf *out)
{
    const char *p = data, *first = n > 0 ? memchr(p, '\n', n) : NULL;
    keep_tail(l, p, n);
    if (first != NULL && buf_len(&l->held) > 0) {
        size_t len = (size_t)(first - p) + 1;
        buf_append(&l->held, p, len);
        take_held(l, prefix, out);
        p += len;
        n -= len;
    }
    const char *last = n > 0 ? memrchr(p, '\n', n) : NULL;
    size_t whole = last != NULL ? (size_t)(last - p) + 1 : 0;
    add_whole(prefix, p, whole, out);
    buf_append(&l->held, p + whole, n - whole);
    if (buf_len(&l->held) > LINES_HELD_MAX)
        take_held(l, prefix, out);
}

void lines_end(struct lines *l, const char *prefix, struct buf *out)
{
    if (buf_len(&l->held) > 0)
        take_held(l, prefix, out);
}

// Where the last `max` lines of the text begin.
static size_t last_lines(const char *p, size_t n, unsigned max)
{
    size_t from = n;
    while (from > 0 && (p[from - 1] != '\n' || --max > 0))
        from--;
    return from;
}

void lines_tail(const struct lines *l, unsigned max, const char *indent,
                struct buf *out)
{
    const char *p = (const char *)l->tail.mem + l->tail.start;
    size_t n = buf_len(&l->tail);
    while (n > 0 && p[n - 1] == '\n')
        n--;
    size_t from = last_lines(p, n, max);
    for (size_t i = from; i < n; i++) {
        if (i == from || p[i - 1] == '\n')
            buf_printf(out, "%s%s", i == from ? "" : "\n", indent);
        bool shown = (unsigned char)p[i] >= ' ' || p[i] == '\t';
        if (p[i] != '\n')
            buf_append(out, shown ? &p[i] : "?", 1);
    }
}

void lines_free(struct lines *l)
{
    buf_free(&l->held);
    buf_free(&l->tail);
}
