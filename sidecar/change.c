// Two lists, three ways to differ.
#include "sidecar/change.h"

#include <netinet/in.h>
#include <string.h>

#include "common/jsontext.h"

// The member of this name, NULL: there is none.
static const struct member *find(const struct members *in, const struct member *m)
{
    long at = in->n > 0 ? members_find(in, m->name, strlen(m->name)) : -1;
    return at >= 0 ? &in->v[at] : NULL;
}

static bool same_address(const struct member *a, const struct member *b)
{
    char x[INET6_ADDRSTRLEN], y[INET6_ADDRSTRLEN];
    members_address(a, x, sizeof x);
    members_address(b, y, sizeof y);
    return strcmp(x, y) == 0;
}

static size_t count_missing(const struct members *of, const struct members *in)
{
    size_t n = 0;
    for (size_t i = 0; i < of->n; i++)
        n += find(in, &of->v[i]) == NULL ? 1 : 0;
    return n;
}

void change_find(const struct members *was, const struct members *is,
                 struct change *out)
{
    *out = (struct change){.was = was,
                           .is = is,
                           .added = count_missing(is, was),
                           .removed = count_missing(was, is)};
    for (size_t i = 0; i < is->n; i++) {
        const struct member *before = find(was, &is->v[i]);
        out->changed += before != NULL && !same_address(before, &is->v[i]) ? 1 : 0;
    }
}

bool change_is_empty(const struct change *c)
{
    return c->added + c->removed + c->changed == 0;
}

// ---- JSON -------------------------------------------------------------------------

static void put_address(struct buf *out, const char *key, const struct member *m)
{
    char at[INET6_ADDRSTRLEN];
    members_address(m, at, sizeof at);
    buf_printf(out, at[0] != '\0' ? ",\"%s\":\"%s\"" : ",\"%s\":null", key, at);
}

static void begin_member(struct buf *out, const struct member *m, bool first)
{
    buf_append_str(out, first ? "{\"name\":" : ",{\"name\":");
    jsontext_string(out, m->name);
}

static void put_missing(struct buf *out, const char *key, const struct members *of,
                        const struct members *in)
{
    bool first = true;
    buf_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < of->n; i++) {
        if (find(in, &of->v[i]) != NULL)
            continue;
        begin_member(out, &of->v[i], first);
        put_address(out, "address", &of->v[i]);
        buf_append_str(out, "}");
        first = false;
    }
    buf_append_str(out, "]");
}

static void put_changed(struct buf *out, const struct change *c)
{
    bool first = true;
    buf_append_str(out, ",\"changed\":[");
    for (size_t i = 0; i < c->is->n; i++) {
        const struct member *before = find(c->was, &c->is->v[i]);
        if (before == NULL || same_address(before, &c->is->v[i]))
            continue;
        begin_member(out, &c->is->v[i], first);
        put_address(out, "old", before);
        put_address(out, "new", &c->is->v[i]);
        buf_append_str(out, "}");
        first = false;
    }
    buf_append_str(out, "]");
}

void change_json(const struct change *c, uint64_t generation, struct buf *out)
{
    buf_printf(out, "{\"generation\":%llu,\"members\":%zu",
               (unsigned long long)generation, c->is->n);
    put_missing(out, "added", c->is, c->was);
    put_missing(out, "removed", c->was, c->is);
    put_changed(out, c);
    buf_append_str(out, "}\n");
}

void change_env(const struct change *c, uint64_t generation, struct strv *env)
{
    strv_setenvf(env, "MUSTER_GENERATION", "%llu", (unsigned long long)generation);
    strv_setenvf(env, "MUSTER_MEMBERS", "%zu", c->is->n);
    strv_setenvf(env, "MUSTER_ADDED", "%zu", c->added);
    strv_setenvf(env, "MUSTER_REMOVED", "%zu", c->removed);
    strv_setenvf(env, "MUSTER_CHANGED", "%zu", c->changed);
}
