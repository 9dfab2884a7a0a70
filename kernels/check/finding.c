// Verdicts add up, and become one line of JSON.
#include "kernels/check/finding.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/mem.h"

void finding_init(struct finding *f)
{
    *f = (struct finding){.evidence = json_object()};
}

void finding_clear(struct finding *f)
{
    free(f->why);
    json_decref(f->evidence);
    *f = (struct finding){0};
}

static void settle(struct finding *f, enum finding_verdict verdict, char *why)
{
    free(f->why);
    f->verdict = verdict;
    f->why = why;
}

void finding_fail(struct finding *f, const char *fmt, ...)
{
    va_list ap;
    f->fails++;
    if (f->verdict == FINDING_FAIL)
        return;
    va_start(ap, fmt);
    settle(f, FINDING_FAIL, xvasprintf(fmt, ap));
    va_end(ap);
}

void finding_could_not_run(struct finding *f, const char *fmt, ...)
{
    va_list ap;
    if (f->verdict != FINDING_PASS)
        return;
    va_start(ap, fmt);
    settle(f, FINDING_COULD_NOT_RUN, xvasprintf(fmt, ap));
    va_end(ap);
}

void finding_not_here(struct finding *f, const char *fmt, ...)
{
    va_list ap;
    if (f->verdict == FINDING_FAIL)
        return;
    va_start(ap, fmt);
    settle(f, FINDING_NOT_HERE, xvasprintf(fmt, ap));
    va_end(ap);
}

void finding_set(struct finding *f, const char *name, json_t *value)
{
    if (json_object_set_new(f->evidence, name, value) < 0)
        abort();
}

static char *reason(const struct finding *f)
{
    if (f->why == NULL)
        return xstrdup("");
    if (f->fails < 2)
        return xstrdup(f->why);
    return xasprintf("%s (and %u more)", f->why, f->fails - 1);
}

json_t *finding_hex(uint64_t v, int digits)
{
    CLEANUP_FREE char *text = xasprintf("0x%0*llx", digits, (unsigned long long)v);
    return jsonpack_text(text);
}

char *finding_line(const struct finding *f, const char *check, double seconds)
{
    static const char *const words[] = {"pass", "fail", "could-not-run", "not-here"};
    CLEANUP_FREE char *why = reason(f);
    json_t *o = jsonpack("{s:s, s:s, s:s, s:f}", "check", check, "verdict",
                         words[f->verdict], "why", why, "seconds",
                         (double)(uint64_t)(seconds * 1000 + 0.5) / 1000);
    if (json_object_update_missing(o, f->evidence) < 0)
        abort();
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(o);
    if (text == NULL)
        abort();
    char *line = xasprintf("%s\n", text);
    free(text);
    return line;
}
