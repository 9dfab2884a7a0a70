// The document is kept as JSON objects, one a role.
#include "launcher/roles.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/jsonpack.h"
#include "common/mem.h"

enum { ENV_ADDRESSES_MAX = 64 };

struct roles {
    struct strv names;
    json_t **parts; // NULL: nothing is known
    uint32_t version;
};

bool roles_name_is_valid(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char all[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    size_t n = strlen(name);
    return n <= ROLES_NAME_MAX && strspn(name, letters) > 0 && strspn(name, all) == n;
}

struct roles *roles_create(const char *const *names, size_t n)
{
    struct roles *r = xcalloc(1, sizeof *r);
    for (size_t i = 0; i < n; i++)
        strv_add(&r->names, names[i]);
    r->parts = xcalloc(n, sizeof(json_t *));
    return r;
}

void roles_destroy(struct roles *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->names.n; i++)
        json_decref(r->parts[i]);
    free(r->parts);
    strv_free(&r->names);
    free(r);
}

bool roles_set(struct roles *r, size_t role, const char *text, size_t len)
{
    json_t *part = json_loadb(text, len, 0, NULL);
    if (!json_is_object(part) || json_equal(part, r->parts[role])) {
        json_decref(part);
        return false;
    }
    json_decref(r->parts[role]);
    r->parts[role] = part;
    r->version++;
    return true;
}

bool roles_are_whole(const struct roles *r)
{
    for (size_t i = 0; i < r->names.n; i++)
        if (r->parts[i] == NULL)
            return false;
    return true;
}

static const char *state_of(const json_t *part)
{
    const char *state = json_string_value(json_object_get(part, "state"));
    return state != NULL ? state : "";
}

static char *document_text(const json_t *document)
{
    CLEANUP_FREE char *text = json_dumps(document, JSON_INDENT(1));
    return xasprintf("%s\n", text);
}

char *roles_text(const struct roles *r)
{
    json_t *all = json_object();
    for (size_t i = 0; i < r->names.n; i++)
        json_object_set(all, r->names.v[i], r->parts[i]);
    json_t *document = jsonpack("{s:i, s:o}", "version", (int)r->version, "roles", all);
    char *text = document_text(document);
    json_decref(document);
    return text;
}

// ---- of a document ------------------------------------------------------------

char *roles_with(const char *document, const char *role, const char *part)
{
    json_t *whole = json_loads(document, 0, NULL);
    json_object_set_new(json_object_get(whole, "roles"), role,
                        json_loads(part, 0, NULL));
    char *text = document_text(whole);
    json_decref(whole);
    return text;
}

static char *variable(const char *role)
{
    char *name = xasprintf("MUSTER_ROLE_ADDRS_%s", role);
    for (char *c = name; *c != '\0'; c++) {
        if (*c == '-')
            *c = '_';
        else if (*c >= 'a' && *c <= 'z')
            *c ^= 'a' ^ 'A';
    }
    return name;
}

static size_t count_members(const json_t *all)
{
    const char *name;
    json_t *part;
    size_t n = 0;
    json_object_foreach((json_t *)(uintptr_t)all, name, part) n +=
        json_array_size(json_object_get(part, "members"));
    return n;
}

static char *addresses(const json_t *part)
{
    BUF_AUTO text = BUF_INIT;
    const json_t *members = json_object_get(part, "members");
    for (size_t i = 0; i < json_array_size(members); i++) {
        const json_t *m = json_array_get(members, i);
        const char *address = json_string_value(json_object_get(m, "address"));
        buf_printf(&text, "%s%s", i > 0 ? "," : "", address != NULL ? address : "");
    }
    return buf_steal_str(&text);
}

void roles_env(const char *document, const char *own, struct strv *out)
{
    json_t *whole = json_loads(document, 0, NULL), *part;
    json_t *all = json_object_get(whole, "roles");
    bool few = count_members(all) <= ENV_ADDRESSES_MAX;
    BUF_AUTO names = BUF_INIT;
    const char *name;
    json_object_foreach(all, name, part)
    {
        buf_printf(&names, "%s%s", buf_len(&names) > 0 ? "," : "", name);
        CLEANUP_FREE char *var = variable(name), *list = addresses(part);
        if (few)
            strv_setenv(out, var, list);
    }
    CLEANUP_FREE char *list = buf_steal_str(&names);
    strv_setenv(out, "MUSTER_ROLE", own);
    strv_setenv(out, "MUSTER_ROLES", list);
    json_decref(whole);
}

// The attempt that runs; 0: none does.
static json_int_t running(const json_t *part)
{
    bool runs = strcmp(state_of(part), "running") == 0;
    return runs ? json_integer_value(json_object_get(part, "attempt")) : 0;
}

bool roles_run_again(const char *before, const char *now, const char *own)
{
    json_t *old = json_loads(before, 0, NULL), *new = json_loads(now, 0, NULL), *part;
    const json_t *were = json_object_get(old, "roles");
    const char *name;
    bool news = false;
    json_object_foreach(json_object_get(new, "roles"), name, part)
    {
        json_int_t attempt = running(part);
        news = news || (strcmp(name, own) != 0 && attempt > 1 &&
                        attempt != running(json_object_get(were, name)));
    }
    json_decref(old);
    json_decref(new);
    return news;
}

// ---- --restart-scope job -------------------------------------------------------

static uint32_t later_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

void roles_generation_next(struct roles_generation *g)
{
    g->now = later_of(g->now + 1, g->wanted);
}

bool roles_generation_order(struct roles_generation *g, uint32_t wanted, bool lives)
{
    g->wanted = later_of(g->wanted, wanted);
    if (!lives)
        g->now = later_of(g->now, g->wanted);
    return g->now < g->wanted;
}
