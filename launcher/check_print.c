// The table of `muster check`.
#include "launcher/check_print.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "launcher/oneline.h"

enum { COLUMNS = 6, CELL_MAX = 256 };

static const char *str(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s != NULL ? s : "";
}

static bool is(const json_t *o, enum finding_verdict v)
{
    return strcmp(str(o, "verdict"), finding_verdict_name(v)) == 0;
}

// PASS of none.
static enum finding_verdict worst_of(const json_t *list)
{
    enum finding_verdict sum = FINDING_PASS;
    const json_t *m;
    size_t i;
    json_array_foreach(list, i, m)
    {
        if (is(m, FINDING_FAIL))
            return FINDING_FAIL;
        if (!is(m, FINDING_PASS))
            sum = FINDING_COULD_NOT;
    }
    return sum;
}

enum finding_verdict check_print_sum(const json_t *report)
{
    const json_t *members = json_object_get(report, "members");
    enum finding_verdict own = worst_of(members);
    enum finding_verdict pairs = worst_of(json_object_get(report, "pairs"));
    if (json_array_size(members) == 0)
        return FINDING_COULD_NOT;
    return own > pairs ? own : pairs;
}

// ---- the table --------------------------------------------------------------------

struct row {
    char *cell[COLUMNS];
};

struct table {
    struct row *rows;
    size_t n;
};

static char *cell(const char *text)
{
    return oneline(text[0] != '\0' ? text : "-", CELL_MAX);
}

static struct row *add(struct table *t)
{
    t->rows = xrealloc(t->rows, t->n + 1, sizeof *t->rows);
    return &t->rows[t->n++];
}

static void add_head(struct table *t)
{
    static const char *const names[COLUMNS] = {"MEMBER",  "ADDRESS", "CHECK",
                                               "VERDICT", "SECONDS", "WHY"};
    struct row *r = add(t);
    for (int c = 0; c < COLUMNS; c++)
        r->cell[c] = xstrdup(names[c]);
}

// check: NULL: there was none.
static void add_check(struct table *t, const json_t *m, const json_t *check)
{
    const json_t *said = check != NULL ? check : m;
    double seconds = json_number_value(json_object_get(said, "seconds"));
    *add(t) = (struct row){{
        cell(str(m, "name")),
        cell(str(m, "address")),
        cell(check != NULL ? str(check, "check") : ""),
        cell(str(said, "verdict")),
        seconds > 0 ? xasprintf("%.1f", seconds) : xstrdup("-"),
        cell(str(said, "why")),
    }};
}

static void add_member(struct table *t, const json_t *m)
{
    const json_t *checks = json_object_get(m, "checks"), *check;
    size_t i;
    json_array_foreach(checks, i, check) add_check(t, m, check);
    if (json_array_size(checks) == 0)
        add_check(t, m, NULL);
}

static void add_pair(struct table *t, const json_t *p)
{
    double mb_s = json_number_value(json_object_get(p, "mb_s"));
    double rtt_us = json_number_value(json_object_get(p, "rtt_us"));
    CLEANUP_FREE char *who = xasprintf("%s, %s", str(p, "a"), str(p, "b"));
    CLEANUP_FREE char *rates =
        mb_s > 0 ? xasprintf("%.0f MB/s, %.0f us", mb_s, rtt_us) : xstrdup("");
    const char *why = str(p, "why");
    *add(t) = (struct row){{
        cell(who),
        cell(""),
        cell("pair"),
        cell(str(p, "verdict")),
        xstrdup("-"),
        cell(why[0] != '\0' ? why : rates),
    }};
}

static void put_rows(const struct table *t, struct buf *out)
{
    size_t width[COLUMNS] = {0};
    for (size_t i = 0; i < t->n; i++)
        for (int c = 0; c < COLUMNS; c++)
            if (strlen(t->rows[i].cell[c]) > width[c])
                width[c] = strlen(t->rows[i].cell[c]);
    for (size_t i = 0; i < t->n; i++) {
        for (int c = 0; c < COLUMNS - 1; c++)
            buf_printf(out, "%-*s  ", (int)width[c], t->rows[i].cell[c]);
        buf_printf(out, "%s\n", t->rows[i].cell[COLUMNS - 1]);
    }
}

static void table_free(struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        for (int c = 0; c < COLUMNS; c++)
            free(t->rows[i].cell[c]);
    free(t->rows);
}

// ", 2 failed (a, b)"
static void put_some(const json_t *members, enum finding_verdict v, const char *what,
                     struct buf *out)
{
    const json_t *m;
    BUF_AUTO names = BUF_INIT;
    size_t i, n = 0;
    json_array_foreach(members, i, m) if (is(m, v))
    {
        CLEANUP_FREE char *name = cell(str(m, "name"));
        buf_printf(&names, "%s%s", n++ > 0 ? ", " : "", name);
    }
    if (n == 0)
        return;
    CLEANUP_FREE char *who = buf_steal_str(&names);
    buf_printf(out, ", %zu %s (%s)", n, what, who);
}

static void put_sum(const json_t *members, struct buf *out)
{
    const json_t *m;
    size_t i, passed = 0, n = json_array_size(members);
    json_array_foreach(members, i, m) passed += is(m, FINDING_PASS) ? 1 : 0;
    buf_printf(out, "%zu of %zu member%s passed", passed, n, n == 1 ? "" : "s");
    put_some(members, FINDING_FAIL, "failed", out);
    put_some(members, FINDING_COULD_NOT, "could not be inspected", out);
    buf_append_str(out, "\n");
}

static void put_blamed(const json_t *blamed, struct buf *out)
{
    const json_t *b;
    size_t i;
    json_array_foreach(blamed, i, b)
    {
        CLEANUP_FREE char *why = cell(str(b, "why"));
        buf_printf(out, "at fault: %s %s\n",
                   json_object_get(b, "b") != NULL ? "link" : "node", why);
    }
}

void check_print_table(const json_t *report, struct buf *out)
{
    const json_t *members = json_object_get(report, "members"), *m;
    const json_t *pairs = json_object_get(report, "pairs");
    struct table t = {0};
    size_t i;
    add_head(&t);
    json_array_foreach(members, i, m) add_member(&t, m);
    json_array_foreach(pairs, i, m) add_pair(&t, m);
    put_rows(&t, out);
    put_sum(members, out);
    put_blamed(json_object_get(report, "blamed"), out);
    table_free(&t);
}
