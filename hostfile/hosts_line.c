// Reading and writing lines of the managed block.
#include "hostfile/hosts_line.h"

#include <string.h>

#include "common/mem.h"
#include "hostfile/hostname.h"

enum { NAMES_AT = HOSTS_ADDRESS_WIDTH + 1, FILLER_MAX = 128 };

void hosts_lines_add(struct hosts_lines *l, const struct hosts_line *line)
{
    if (l->n == l->cap) {
        l->cap = l->cap > 0 ? l->cap * 2 : 16;
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
    }
    l->v[l->n++] = *line;
}

static bool all_blank(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] != ' ')
            return false;
    return true;
}

static bool is_text(const char *line, size_t len, const char *want)
{
    size_t n = strlen(want);
    return len >= n && memcmp(line, want, n) == 0 && all_blank(line + n, len - n);
}

static size_t word_len(const char *s, size_t max)
{
    size_t n = 0;
    while (n < max && s[n] != ' ')
        n++;
    return n;
}

static size_t without_trailing_blanks(const char *s, size_t n)
{
    while (n > 0 && s[n - 1] == ' ')
        n--;
    return n;
}

// `len` without the newline.
static bool read_slot(const char *s, size_t len, struct hosts_line *out)
{
    struct sockaddr_storage addr;
    if (len <= NAMES_AT || s[0] == ' ' || s[NAMES_AT] == ' ' || s[NAMES_AT] == '#')
        return false;
    out->address_len = word_len(s, HOSTS_ADDRESS_WIDTH);
    if (!all_blank(s + out->address_len, NAMES_AT - out->address_len) ||
        !hostname_literal(s, out->address_len, &addr))
        return false;
    out->v6 = addr.ss_family == AF_INET6;
    out->names_len = without_trailing_blanks(s + NAMES_AT, len - NAMES_AT);
    return true;
}

static bool is_retired(const char *s, size_t len)
{
    size_t i = 1;
    if (len <= NAMES_AT || s[0] != '#' || s[NAMES_AT] == ' ')
        return false;
    while (i < NAMES_AT && strchr("0123456789abcdef.: ", s[i]) != NULL)
        i++;
    return i == NAMES_AT && s[NAMES_AT - 1] == ' ';
}

static enum hosts_kind classify(const char *s, size_t len, struct hosts_line *out)
{
    if (is_text(s, len, HOSTS_BEGIN))
        return HOSTS_BEGINS;
    if (is_text(s, len, HOSTS_END))
        return HOSTS_ENDS;
    if (len == 0 || (s[0] == '#' && all_blank(s + 1, len - 1)))
        return HOSTS_BLANK;
    if (is_retired(s, len))
        return HOSTS_RETIRED;
    return read_slot(s, len, out) ? HOSTS_SLOT : HOSTS_FOREIGN;
}

// A slot without its newline, or an address, or less.
static bool is_beginning(const char *s, size_t len)
{
    struct hosts_line line;
    size_t n = 0;
    if (len < strlen(HOSTS_END) && memcmp(s, HOSTS_END, len) == 0)
        return true;
    while (n < len && n <= HOSTS_ADDRESS_WIDTH && strchr("0123456789abcdef.: ", s[n]))
        n++;
    return n == len || read_slot(s, len, &line);
}

struct hosts_line hosts_line_read(const char *text, size_t len, size_t off)
{
    struct hosts_line line = {.off = off};
    const char *s = text + off;
    size_t n = 0, left = len - off;
    if (s[0] == '\0') {
        while (n < left && s[n] == '\0')
            n++;
        line.kind = HOSTS_HOLE;
        line.len = n;
        return line;
    }
    while (n < left && s[n] != '\n' && s[n] != '\0')
        n++;
    bool whole = n < left && s[n] == '\n', last = n == left;
    line.len = whole ? n + 1 : n;
    line.kind = whole                                ? classify(s, n, &line)
                : last && is_text(s, n, HOSTS_BEGIN) ? HOSTS_BEGINS
                : last && is_text(s, n, HOSTS_END)   ? HOSTS_ENDS
                : last && is_beginning(s, n)         ? HOSTS_TORN
                                                     : HOSTS_FOREIGN;
    return line;
}

bool hosts_line_crosses(size_t off, size_t len)
{
    return len > 0 && off / HOSTS_PAGE != (off + len - 1) / HOSTS_PAGE;
}

size_t hosts_line_width(size_t names_len)
{
    size_t n = NAMES_AT + names_len + 1;
    return (n + HOSTS_LINE_STEP - 1) / HOSTS_LINE_STEP * HOSTS_LINE_STEP;
}

static void pad(struct buf *out, size_t n)
{
    memset(buf_reserve(out, n), ' ', n);
    buf_commit(out, n);
}

void hosts_line_write(struct buf *out, const char *address, const char *names,
                      size_t width)
{
    buf_append_str(out, address);
    pad(out, NAMES_AT - strlen(address));
    buf_append_str(out, names);
    pad(out, width - NAMES_AT - strlen(names) - 1);
    buf_append_str(out, "\n");
}

void hosts_line_fill(struct buf *out, size_t n)
{
    while (n > 0) {
        size_t one = n < FILLER_MAX ? n : FILLER_MAX;
        if (one > 1) {
            buf_append_str(out, "#");
            pad(out, one - 2);
        }
        buf_append_str(out, "\n");
        n -= one;
    }
}
