// libFuzzer target for ConfigMaps: KEY, newline, JSON. A patch has the text that was asked for.
#include <jansson.h>
#include <string.h>

#include "common/mem.h"
#include "demand.h"
#include "launcher/configmap.h"

static void check_patch(const struct configmap *c)
{
    BUF_AUTO out = BUF_INIT;
    configmap_patch(c, c->text, c->len, &out);
    json_t *patch =
        json_loadb((const char *)buf_data(&out), buf_len(&out), JSON_ALLOW_NUL, NULL);
    json_t *text = json_object_get(json_object_get(patch, "data"), c->key);
    demand(json_string_length(text) == c->len &&
               (c->len == 0 || memcmp(json_string_value(text), c->text, c->len) == 0),
           "the patch has another text");
    json_decref(patch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    CONFIGMAP_AUTO c = {0};
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    if (newline == NULL)
        return 0;
    size_t len = (size_t)(newline - data);
    CLEANUP_FREE char *key = xstrndup((const char *)data, len);
    const char *json = (const char *)newline + 1;
    if (configmap_read(json, size - len - 1, "F", key, &c, &err) == 0)
        check_patch(&c);
    else
        demand(err.kind != NULL && err.text != NULL && c.text == NULL, "a bad error");
    return 0;
}
