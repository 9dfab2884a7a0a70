// Lines that go and lines that come.
#include "hostfile/hosts_diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/hosts_line.h"

#define uthash_fatal(msg) abort()
#include <uthash.h>

struct seen {
    UT_hash_handle hh;
    size_t times;
    char text[];
};

// The next line that is not blank, without trailing blanks; false at the end.
static bool next_line(const struct buf *b, size_t *off, const char **line, size_t *len)
{
    const char *text = (const char *)buf_data(b);
    while (*off < buf_len(b)) {
        struct hosts_line l = hosts_line_read(text, buf_len(b), *off);
        *line = text + l.off;
        *len = l.len;
        *off += l.len;
        while (*len > 0 && strchr(" \n", (*line)[*len - 1]) != NULL)
            (*len)--;
        if (l.kind != HOSTS_BLANK && l.kind != HOSTS_HOLE)
            return true;
    }
    return false;
}

static struct seen *count_lines(const struct buf *b)
{
    struct seen *all = NULL, *s;
    const char *line;
    size_t off = 0, len;
    while (next_line(b, &off, &line, &len)) {
        HASH_FIND(hh, all, line, len, s);
        if (s == NULL) {
            s = xcalloc(1, sizeof *s + len + 1);
            memcpy(s->text, line, len);
            HASH_ADD_KEYPTR(hh, all, s->text, len, s);
        }
        s->times++;
    }
    return all;
}

static void free_seen(struct seen *all)
{
    struct seen *s, *next;
    HASH_ITER (hh, all, s, next) {
        HASH_DEL(all, s);
        free(s);
    }
}

// Lines of `b` that `other` does not have as often.
static void print_only(const struct buf *b, const struct buf *other, const char *sign,
                       struct buf *out)
{
    struct seen *all = count_lines(other), *s;
    const char *line;
    size_t off = 0, len;
    while (next_line(b, &off, &line, &len)) {
        HASH_FIND(hh, all, line, len, s);
        if (s != NULL && s->times > 0)
            s->times--;
        else
            buf_printf(out, "%s%.*s\n", sign, (int)len, line);
    }
    free_seen(all);
}

void hosts_diff(const struct buf *before, const struct buf *after, struct buf *out)
{
    print_only(before, after, "-", out);
    print_only(after, before, "+", out);
}
