// Quoting, and what is UTF-8.
#include "common/jsontext.h"

#include <stdbool.h>

// Length of the UTF-8 character at s, 0: none.
static size_t utf8(const unsigned char *s)
{
    size_t n = s[0] < 0x80                   ? 1
               : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
               : s[0] >= 0xE0 && s[0] < 0xF0 ? 3
               : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool outside = (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF4 && s[1] > 0x8F);
    return overlong || outside ? 0 : n;
}

// Length of what needs no escape.
static size_t plain(const unsigned char *s)
{
    size_t n = 0;
    while (s[n] >= 0x20 && s[n] < 0x7F && s[n] != '"' && s[n] != '\\')
        n++;
    return n;
}

void jsontext_string(struct buf *out, const char *text)
{
    const unsigned char *s = (const void *)text;
    buf_append(out, "\"", 1);
    for (;;) {
        size_t n = plain(s);
        buf_append(out, s, n);
        s += n;
        if (*s == '\0')
            break;
        n = utf8(s);
        if (n == 0)
            buf_append_str(out, "\\ufffd");
        else if (*s == '"' || *s == '\\')
            buf_printf(out, "\\%c", *s);
        else if (n == 1)
            buf_printf(out, "\\u%04x", *s);
        else
            buf_append(out, s, n);
        s += n > 0 ? n : 1;
    }
    buf_append(out, "\"", 1);
}

bool jsontext_is_utf8(const char *text)
{
    const unsigned char *s = (const void *)text;
    while (*s != '\0' && utf8(s) > 0)
        s += utf8(s);
    return *s == '\0';
}

void jsontext_mend(struct buf *out, const char *text)
{
    const unsigned char *s = (const void *)text;
    while (*s != '\0') {
        size_t n = utf8(s);
        if (n == 0)
            buf_append_str(out, "\xEF\xBF\xBD");
        else
            buf_append(out, s, n);
        s += n > 0 ? n : 1;
    }
}
