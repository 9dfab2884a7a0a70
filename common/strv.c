// String vectors and environments.
#include "common/strv.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

void strv_add_steal(struct strv *s, char *text)
{
    if (s->n + 2 > s->cap) {
        s->cap = s->cap > 0 ? s->cap * 2 : 8;
        s->v = xrealloc(s->v, s->cap, sizeof *s->v);
    }
    s->v[s->n++] = text;
    s->v[s->n] = NULL;
}

void strv_add(struct strv *s, const char *text)
{
    strv_add_steal(s, xstrdup(text));
}

void strv_addf(struct strv *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    strv_add_steal(s, xvasprintf(fmt, ap));
    va_end(ap);
}

void strv_add_all(struct strv *s, char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strv_add(s, texts[i]);
}

void strv_add_split(struct strv *s, const char *list, char separator)
{
    const char separators[] = {separator, '\0'};
    for (const char *p = list; *p != '\0';) {
        size_t n = strcspn(p, separators);
        if (n > 0)
            strv_add_steal(s, xstrndup(p, n));
        p += n + (p[n] == separator ? 1 : 0);
    }
}

char **strv_take(struct strv *s, size_t *n)
{
    char **v = s->v;
    *n = s->n;
    *s = (struct strv)STRV_INIT;
    return v;
}

void strv_remove(struct strv *s, size_t i)
{
    free(s->v[i]);
    memmove(&s->v[i], &s->v[i + 1], (s->n - i) * sizeof *s->v);
    s->n--;
}

void strv_free(struct strv *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i]);
    free(s->v);
    *s = (struct strv)STRV_INIT;
}

static size_t find(const struct strv *s, const char *name, size_t len)
{
    for (size_t i = s->n; i-- > 0;)
        if (strncmp(s->v[i], name, len) == 0 && s->v[i][len] == '=')
            return i;
    return s->n;
}

const char *strv_getenv(const struct strv *s, const char *name)
{
    size_t len = strlen(name), i = find(s, name, len);
    return i < s->n ? s->v[i] + len + 1 : NULL;
}

void strv_putenv(struct strv *s, const char *entry)
{
    const char *eq = strchr(entry, '=');
    size_t i = find(s, entry, eq != NULL ? (size_t)(eq - entry) : strlen(entry));
    if (i == s->n) {
        strv_add(s, entry);
        return;
    }
    free(s->v[i]);
    s->v[i] = xstrdup(entry);
}

struct named {
    const char *entry;
    size_t at;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    size_t i = 0;
    while (x->entry[i] == y->entry[i] && x->entry[i] != '=' && x->entry[i] != '\0')
        i++;
    int p = x->entry[i] == '=' ? 0 : (unsigned char)x->entry[i];
    int q = y->entry[i] == '=' ? 0 : (unsigned char)y->entry[i];
    return p != q ? p - q : (x->at > y->at) - (x->at < y->at);
}

static bool same_name(const struct named *a, const struct named *b)
{
    size_t len = strcspn(a->entry, "=");
    return len == strcspn(b->entry, "=") && strncmp(a->entry, b->entry, len) == 0;
}

// Of each name the last value stays, in the first one's place.
static void drop_repeats(struct strv *s)
{
    CLEANUP_FREE struct named *names = xcalloc(s->n, sizeof *names);
    for (size_t i = 0; i < s->n; i++)
        names[i] = (struct named){s->v[i], i};
    qsort(names, s->n, sizeof *names, by_name);
    for (size_t i = 0, first = 0; i < s->n; i++) {
        if (!same_name(&names[first], &names[i]))
            first = i;
        if (i == first)
            continue;
        free(s->v[names[first].at]);
        s->v[names[first].at] = s->v[names[i].at];
        s->v[names[i].at] = NULL;
        names[first].entry = names[i].entry;
    }
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i] != NULL)
            s->v[kept++] = s->v[i];
    s->n = kept;
    if (s->v != NULL)
        s->v[kept] = NULL;
}

void strv_putenv_all(struct strv *s, char *const *entries, size_t n)
{
    strv_add_all(s, entries, n);
    drop_repeats(s);
}

void strv_setenv(struct strv *s, const char *name, const char *value)
{
    CLEANUP_FREE char *entry = xasprintf("%s=%s", name, value);
    strv_putenv(s, entry);
}

void strv_setenvf(struct strv *s, const char *name, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *value = xvasprintf(fmt, ap);
    va_end(ap);
    strv_setenv(s, name, value);
}

void strv_unsetenv(struct strv *s, const char *name)
{
    size_t i, len = strlen(name);
    while ((i = find(s, name, len)) < s->n)
        strv_remove(s, i);
}
