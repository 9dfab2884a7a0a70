// Members as JSON.
#include "hostfile/jsonform.h"

#include <string.h>

#include "hostfile/dialect_impl.h"

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

// Names are ASCII; the name of a file in a warning may be anything.
static void put_string(const char *text, struct buf *out)
{
    const unsigned char *s = (const void *)text;
    buf_append_str(out, "\"");
    for (size_t n; *s != '\0'; s += n > 0 ? n : 1) {
        n = utf8(s);
        if (n == 0)
            buf_append_str(out, "\\ufffd");
        else if (*s < 0x20)
            buf_printf(out, "\\u%04x", *s);
        else {
            if (*s == '"' || *s == '\\')
                buf_append_str(out, "\\");
            buf_append(out, s, n);
        }
    }
    buf_append_str(out, "\"");
}

static void put_key(const char *key, struct buf *out)
{
    buf_append_str(out, ", \"");
    buf_append_str(out, key);
    buf_append_str(out, "\": ");
}

static void put_count(const char *key, int n, struct buf *out)
{
    put_key(key, out);
    if (n < 0)
        buf_append_str(out, "null");
    else
        buf_printf(out, "%d", n);
}

static void put_member(const struct member *m, struct buf *out)
{
    buf_append_str(out, "    {\"name\": ");
    put_string(m->name, out);
    put_count("slots", m->slots, out);
    put_count("max_slots", m->max_slots, out);
    put_key("user", out);
    if (m->user != NULL)
        put_string(m->user, out);
    else
        buf_append_str(out, "null");
    put_count("port", m->port, out);
    if (m->slot_ids != NULL) {
        put_key("slot_ids", out);
        buf_printf(out, "[%s]", m->slot_ids);
    }
    buf_append_str(out, "}");
}

static int write_json(const struct members *m, struct buf *out, struct strv *warnings,
                      struct err *err)
{
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
