// ConfigMaps as JSON.
#include "launcher/configmap.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/jsonpack.h"
#include "common/mem.h"

static int fail(const char *file, const char *kind, struct err *err, const char *fmt,
                ...) __attribute__((format(printf, 4, 5)));

static int fail(const char *file, const char *kind, struct err *err, const char *fmt,
                ...)
{
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    err_set_kind(err, kind, 0, "%s: %s: %s", file, kind, text);
    return -1;
}

static const char *string_at(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s != NULL ? s : "";
}

static int check_kind(const json_t *object, const char *file, struct err *err)
{
    const char *kind = string_at(object, "kind");
    if (strcmp(kind, "Status") == 0)
        return fail(file, "CM_NO_OBJECT", err, "the API server says: %s",
                    string_at(object, "message"));
    if (strcmp(kind, "ConfigMap") != 0)
        return fail(file, "CM_NO_OBJECT", err,
                    "it is no ConfigMap as the API server gives it (kind '%s')", kind);
    if (json_is_true(json_object_get(object, "immutable")))
        return fail(file, "CM_IMMUTABLE", err,
                    "the ConfigMap is immutable: it can only be made anew");
    return 0;
}

static int no_key(const json_t *data, const char *file, const char *key,
                  struct err *err)
{
    BUF_AUTO keys = BUF_INIT;
    for (void *i = json_object_iter((json_t *)(uintptr_t)data); i != NULL;
         i = json_object_iter_next((json_t *)(uintptr_t)data, i))
        buf_printf(&keys, "%s%s", buf_len(&keys) > 0 ? ", " : "",
                   json_object_iter_key(i));
    CLEANUP_FREE char *all = buf_steal_str(&keys);
    return fail(file, "CM_NO_KEY", err, "it has no key '%s' (there: %s)", key,
                all[0] != '\0' ? all : "none");
}

static int take(const json_t *object, const char *file, const char *key,
                struct configmap *out, struct err *err)
{
    const json_t *meta = json_object_get(object, "metadata");
    const json_t *data = json_object_get(object, "data");
    const json_t *text = json_object_get(data, key);
    if (check_kind(object, file, err) < 0)
        return -1;
    if (!json_is_string(text))
        return no_key(data, file, key, err);
    if (string_at(meta, "resourceVersion")[0] == '\0')
        return fail(file, "CM_NO_OBJECT", err,
                    "it has no metadata.resourceVersion: take it as the API server "
                    "gives it");
    out->what = xasprintf("%s/%s:%s", string_at(meta, "namespace"),
                          string_at(meta, "name"), key);
    out->key = xstrdup(key);
    out->version = xstrdup(string_at(meta, "resourceVersion"));
    out->len = json_string_length(text);
    out->text = xmemdup(json_string_value(text), out->len);
    return 0;
}

int configmap_read(const char *json, size_t len, const char *file, const char *key,
                   struct configmap *out, struct err *err)
{
    json_error_t why;
    json_t *object = json_loadb(json, len, JSON_ALLOW_NUL, &why);
    *out = (struct configmap){0};
    if (object == NULL)
        return fail(file, "CM_SYNTAX", err, "it is no JSON: %s (line %d)", why.text,
                    why.line);
    int rc = take(object, file, key, out, err);
    json_decref(object);
    return rc;
}

void configmap_free(struct configmap *c)
{
    free(c->what);
    free(c->key);
    free(c->version);
    free(c->text);
    *c = (struct configmap){0};
}

void configmap_patch(const struct configmap *c, const char *text, size_t len,
                     struct buf *out)
{
    json_t *patch = jsonpack("{s:{s:s}, s:{s:o}}", "metadata", "resourceVersion",
                             c->version, "data", c->key, json_stringn(text, len));
    char *bytes = json_dumps(patch, JSON_COMPACT);
    buf_printf(out, "%s\n", bytes);
    free(bytes);
    json_decref(patch);
}
