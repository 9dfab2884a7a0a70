// libFuzzer target for requests of HTTP: a prefix never says something else than the whole.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/httpreq.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const struct httpreq *a, const struct httpreq *b)
{
    return a->status == b->status && a->head == b->head && a->path_len == b->path_len &&
           a->post == b->post && a->body_at == b->body_at && a->body_len == b->body_len;
}

enum { BODY_MAX = 1000 };

static bool parse(bool post, const char *text, size_t n, struct httpreq *r)
{
    return post ? httpreq_parse_post(text, n, BODY_MAX, r) : httpreq_parse(text, n, r);
}

static void check(bool post, const char *text, size_t size)
{
    struct httpreq first, r;
    bool whole = false;
    for (size_t n = 0; n <= size; n++) {
        bool now = parse(post, text, n, &r);
        if (now && r.status == 0 &&
            (r.path[0] != '/' || r.path + r.path_len > text + n))
            abort();
        if (now && r.status == 0 && (r.body_at > n || r.body_len > BODY_MAX))
            abort();
        if (whole && (!now || !same(&r, &first)))
            abort();
        if (now && !whole)
            first = r;
        whole = now;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(false, (const char *)data, size);
    check(true, (const char *)data, size);
    return 0;
}
