// Hostfiles of the shapes seen in the wild, each with what it must give.
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/dialect.h"
#include "hostfile/slurp.h"

struct example {
    char dialect[16];
    char id[64];
    char expect[400];
};

enum { EXAMPLES_MIN = 80, EXAMPLES_MAX = 200 };

static char *path_of(const char *name)
{
    const char *src = getenv("MUSTER_SRCDIR");
    return xasprintf("%s/tests/cases/hostfiles/%s", src != NULL ? src : ".", name);
}

// Appends the examples of a table; those of expect.txt are for "auto".
static size_t load_from(const char *table, struct example *to, size_t n, size_t max)
{
    CLEANUP_FREE char *path = path_of(table);
    char line[512];
    bool automatic = strcmp(table, "expect.txt") == 0;
    FILE *f = fopen(path, "r");
    while (f != NULL && n < max && fgets(line, sizeof line, f) != NULL) {
        struct example e = {.dialect = "auto"};
        int got = automatic
                      ? sscanf(line, "%63s %399[^\n]", e.id, e.expect) + 1
                      : sscanf(line, "%15s %63s %399[^\n]", e.dialect, e.id, e.expect);
        if (line[0] != '#' && got == 3)
            to[n++] = e;
    }
    if (f != NULL)
        fclose(f);
    return n;
}

static size_t load(struct example *to, size_t max)
{
    return load_from("dialects.txt", to, load_from("expect.txt", to, 0, max), max);
}

// The result in the words of expect.txt.
static char *describe(const struct members *m)
{
    BUF_AUTO b = BUF_INIT;
    for (size_t i = 0; i < m->n; i++) {
        const struct member *one = &m->v[i];
        buf_printf(&b, "%s%s=", i > 0 ? " " : "", one->name);
        if (one->slots < 0)
            buf_append_str(&b, "-");
        else
            buf_printf(&b, "%d", one->slots);
        if (one->max_slots >= 0)
            buf_printf(&b, ",max=%d", one->max_slots);
        if (one->port >= 0)
            buf_printf(&b, ",port=%d", one->port);
    }
    if (m->warnings.n > 0)
        buf_printf(&b, " warnings=%zu", m->warnings.n);
    return buf_steal_str(&b);
}

static char *describe_error(const struct err *err, const char *id)
{
    unsigned line = 0;
    size_t len = strlen(id);
    if (strncmp(err_text(err), id, len) == 0)
        sscanf(err_text(err) + len, ":%u:", &line);
    return xasprintf("!%s:%u", err->kind != NULL ? err->kind : "?", line);
}

ParameterizedTestParameters(hostfile_cases, gives_what_is_expected)
{
    static struct example all[EXAMPLES_MAX];
    return cr_make_param_array(struct example, all, load(all, EXAMPLES_MAX));
}

ParameterizedTest(struct example *e, hostfile_cases, gives_what_is_expected,
                  .timeout = 10)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO text = BUF_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    CLEANUP_FREE char *path = path_of(e->id);
    cr_assert_eq(slurp(path, &text, &err), 0, "%s", err_text(&err));
    const struct dialect *d = dialect_find(e->dialect, "dialects.txt", false, &err);
    cr_assert_not_null(d, "%s", err_text(&err));
    int rc = dialect_read(d, (char *)buf_data(&text), buf_len(&text), e->id, "this-pod",
                          &m, NULL, &err);
    CLEANUP_FREE char *got = rc == 0 ? describe(&m) : describe_error(&err, e->id);
    cr_assert_str_eq(got, e->expect, "%s %s: got %s (%s), expected %s", e->dialect,
                     e->id, got, err_text(&err), e->expect);
    cr_assert(rc == 0 || m.n == 0, "%s: half a list beside an error", e->id);
}

Test(hostfile_cases, the_table_is_there)
{
    static struct example all[EXAMPLES_MAX];
    cr_assert_geq(load(all, EXAMPLES_MAX), EXAMPLES_MIN);
}
