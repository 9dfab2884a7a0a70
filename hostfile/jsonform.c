// Members as JSON.
#include "hostfile/jsonform.h"

#include <string.h>

#include "hostfile/dialect_impl.h"

enum { MEMBER_SIZE = 128 }; // of most members; more is room that is not touched

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

// Names are ASCII; the name of a file in a warning may be anything.
static void put_string(const char *text, struct buf *out)
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
        else if (n == 1)
            buf_printf(out, "\\u%04x", *s);
        else
            buf_append(out, s, n);
        s += n > 0 ? n : 1;
    }
    buf_append(out, "\"", 1);
}

// As "%d" prints it; a million of them are to be quick.
static void put_number(unsigned n, struct buf *out)
{
    char digits[16];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    buf_append(out, digits + at, sizeof digits - at);
}

// `key` with all that stands round it; n < 0: null.
static void put_count(const char *key, int n, struct buf *out)
{
    buf_append_str(out, key);
    if (n < 0)
        buf_append(out, "null", 4);
    else
        put_number((unsigned)n, out);
}

static void put_member(const struct member *m, struct buf *out)
{
    buf_append_str(out, "    {\"name\": ");
    put_string(m->name, out);
    put_count(", \"slots\": ", m->slots, out);
    put_count(", \"max_slots\": ", m->max_slots, out);
    if (m->user != NULL) {
        buf_append_str(out, ", \"user\": ");
        put_string(m->user, out);
    } else {
        put_count(", \"user\": ", -1, out);
    }
    put_count(", \"port\": ", m->port, out);
    if (m->slot_ids != NULL)
        buf_printf(out, ", \"slot_ids\": [%s]", m->slot_ids);
    buf_append(out, "}", 1);
}

static int write_json(const struct members *m, struct buf *out, struct strv *warnings,
                      struct err *err)
{
    buf_reserve(out, m->n * MEMBER_SIZE);
    buf_append_str(out, "{\n  \"members\": [");
    for (size_t i = 0; i < m->n; i++) {
        buf_append_str(out, i > 0 ? ",\n" : "\n");
        put_member(&m->v[i], out);
    }
    buf_append_str(out, m->n > 0 ? "\n  ],\n" : "],\n");
    buf_append_str(out, "  \"warnings\": [");
    for (size_t i = 0; i < m->warnings.n; i++) {
        buf_append_str(out, i > 0 ? ",\n    " : "\n    ");
        put_string(m->warnings.v[i], out);
    }
    buf_append_str(out, m->warnings.n > 0 ? "\n  ]\n}\n" : "]\n}\n");
    return 0;
}

const struct dialect *jsonform_dialect(void)
{
    static const struct dialect d = {
        .name = "json",
        .help = "JSON; written only",
        .write = write_json,
    };
    return &d;
}
