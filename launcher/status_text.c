// Status of a job as text.
#include "launcher/status_text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

enum { COLUMNS = 8 };

// Control characters become '?', but for ends of lines in texts of several. The text is UTF-8:
// those from U+0080 to U+009F, which terminals take as well, have two bytes.
static void put_safe(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool c1 = c == 0xC2 && (unsigned char)text[1] < 0xA0;
        bool bad = c1 || (c < 0x20 && c != '\n') || c == 0x7f;
        buf_append(out, bad ? "?" : text, 1);
        text += c1 ? 1 : 0;
    }
}

static const char *str(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s != NULL ? s : "";
}

static long long number(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

// "75.2 s", "3 min", "5.1 h"
static void put_seconds(struct buf *out, double s)
{
    if (s < 120)
        buf_printf(out, "%.1f s", s);
    else if (s < 7200)
        buf_printf(out, "%.0f min", s / 60);
    else
        buf_printf(out, "%.1f h", s / 3600);
}

static void put_line(struct buf *out, const char *head, const char *text)
{
    if (text[0] == '\0')
        return;
    buf_printf(out, "%-9s", head);
    put_safe(out, text);
    buf_append_str(out, "\n");
}

static void put_head(const json_t *o, struct buf *out)
{
    const json_t *ranks = json_object_get(o, "ranks");
    put_line(out, "job", str(o, "job"));
    buf_printf(out, "%-9s", "state");
    put_safe(out, str(o, "state"));
    buf_append_str(out, " for ");
    put_seconds(out, json_number_value(json_object_get(o, "since")));
    buf_append_str(out, ", up ");
    put_seconds(out, json_number_value(json_object_get(o, "uptime")));
    buf_printf(
        out, "\n%-9s%lld, %lld restarts, %lld ranks (%lld started, %lld ended)\n",
        "attempt", number(o, "attempt"), number(o, "restarts"), number(ranks, "total"),
        number(ranks, "started"), number(ranks, "ended"));
}

static void put_waits(const json_t *o, struct buf *out)
{
    const json_t *w = json_object_get(o, "waiting");
    if (json_is_object(w)) {
        buf_printf(out, "%-9s", "waiting");
        put_safe(out, str(w, "for"));
        buf_append_str(out, ", for ");
        put_seconds(out, json_number_value(json_object_get(w, "seconds")));
        buf_append_str(out, " now\n");
    }
    put_line(out, "cause", str(o, "cause"));
    put_line(out, "before", str(o, "reason"));
    const json_t *source = json_object_get(o, "source");
    put_line(out, "source", str(source, "text"));
    put_line(out, "trouble", str(source, "last_error"));
}

// ---- the table --------------------------------------------------------------------

struct row {
    char *cell[COLUMNS];
};

static void row_free(struct row *r)
{
    for (int c = 0; c < COLUMNS; c++)
        free(r->cell[c]);
}

static char *safe(const char *text)
{
    BUF_AUTO b = BUF_INIT;
    put_safe(&b, text[0] != '\0' ? text : "-");
    return buf_steal_str(&b);
}

static struct row head_row(void)
{
    static const char *const names[COLUMNS] = {"POSITION", "MEMBER", "ADDRESS", "STATE",
                                               "AGENT",    "AGENTS", "RANKS",   "NOTE"};
    struct row r;
    for (int c = 0; c < COLUMNS; c++)
        r.cell[c] = xstrdup(names[c]);
    return r;
}

static struct row member_row(const json_t *m)
{
    const json_t *position = json_object_get(m, "position");
    return (struct row){{
        json_is_integer(position) ? xasprintf("%lld", number(m, "position"))
                                  : xstrdup("-"),
        safe(str(m, "name")),
        safe(str(m, "address")),
        safe(str(m, "state")),
        safe(str(m, "incarnation")),
        xasprintf("%lld", number(m, "agents")),
        xasprintf("%lld/%lld", number(m, "running"), number(m, "ranks")),
        safe(str(m, "why")),
    }};
}

static void put_row(const struct row *r, const size_t *width, struct buf *out)
{
    for (int c = 0; c < COLUMNS - 1; c++)
        buf_printf(out, "%-*s  ", (int)width[c], r->cell[c]);
    buf_printf(out, "%s\n", r->cell[COLUMNS - 1]);
}

static void put_members(const json_t *list, struct buf *out)
{
    size_t n = json_array_size(list) + 1, width[COLUMNS] = {0};
    struct row *rows = xcalloc(n, sizeof *rows);
    rows[0] = head_row();
    for (size_t i = 1; i < n; i++)
        rows[i] = member_row(json_array_get(list, i - 1));
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < COLUMNS; c++)
            if (strlen(rows[i].cell[c]) > width[c])
                width[c] = strlen(rows[i].cell[c]);
    for (size_t i = 0; i < n; i++) {
        put_row(&rows[i], width, out);
        row_free(&rows[i]);
    }
    free(rows);
}

int status_text(const char *json, struct buf *out, struct err *err)
{
    json_t *o = json_loads(json, 0, NULL);
    const json_t *members = json_object_get(o, "members");
    bool fits = json_is_string(json_object_get(o, "job")) && json_is_array(members);
    if (fits) {
        put_head(o, out);
        put_waits(o, out);
        put_members(members, out);
        if (number(o, "left_out") > 0)
            buf_printf(out, "and %lld members more\n", number(o, "left_out"));
    } else {
        err_set(err, "the launcher's answer is no status; it has another version");
    }
    json_decref(o);
    return fits ? 0 : -1;
}
