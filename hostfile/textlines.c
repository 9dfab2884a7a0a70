// Lines of texts that name hosts.
#include "hostfile/textlines.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

size_t textlines_skip(const char *s, size_t len, size_t i)
{
    while (i < len && is_blank(s[i]))
        i++;
    return i;
}

size_t textlines_word(const char *s, size_t len)
{
    size_t i = 0;
    while (i < len && !is_blank(s[i]))
        i++;
    return i;
}

static void warn(struct textlines *t, const char *text)
{
    strv_add_steal(t->warnings, place_warning(&t->at, 0, "%s", text));
}

struct textlines textlines_start(const char *text, size_t len, const char *file,
                                 struct strv *warnings)
{
    struct textlines t = {.rest = text,
                          .len = len,
                          .at = {.file = file, .line = 1, .column = 1},
                          .warnings = warnings};
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        warn(&t, "a UTF-8 byte order mark was skipped");
        t.rest += 3;
        t.len -= 3;
    }
    return t;
}

// Takes one line off, without its end.
static size_t take(struct textlines *t, const char **s)
{
    const char *end = memchr(t->rest, '\n', t->len);
    size_t len = end != NULL ? (size_t)(end - t->rest) : t->len;
    *s = t->rest;
    t->rest += len + (end != NULL ? 1 : 0);
    t->len -= len + (end != NULL ? 1 : 0);
    if (len == 0 || (*s)[len - 1] != '\r')
        return len;
    if (!t->crlf)
        warn(t, "the lines end as on Windows (CRLF)");
    t->crlf = true;
    return len - 1;
}

static size_t without_comment(const char *s, size_t len)
{
    const char *hash = memchr(s, '#', len);
    if (hash == NULL)
        return len;
    size_t used = (size_t)(hash - s);
    // A NUL even in a comment: the file is damaged.
    return memchr(hash, '\0', len - used) != NULL ? len : used;
}

int textlines_next(struct textlines *t, struct textline *line, struct err *err)
{
    while (t->len > 0) {
        const char *s;
        size_t len = take(t, &s);
        line->at = t->at;
        t->at.line++;
        len = without_comment(s, len);
        if (place_check_bytes(&line->at, s, len, err) < 0)
            return -1;
        size_t from = textlines_skip(s, len, 0);
        while (len > from && is_blank(s[len - 1]))
            len--;
        line->at.column += from;
        line->s = s + from;
        line->len = len - from;
        if (line->len > 0)
            return 1;
    }
    return 0;
}
