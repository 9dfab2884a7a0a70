// Members as JSON.
#include "hostfile/jsonform.h"

#include "common/jsontext.h"
#include "hostfile/dialect_impl.h"

enum { MEMBER_SIZE = 128 }; // of most members; more is room that is not touched

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
    jsontext_string(out, m->name);
    put_count(", \"slots\": ", m->slots, out);
    put_count(", \"max_slots\": ", m->max_slots, out);
    if (m->user != NULL) {
        buf_append_str(out, ", \"user\": ");
        jsontext_string(out, m->user);
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
        jsontext_string(out, m->warnings.v[i]);
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
