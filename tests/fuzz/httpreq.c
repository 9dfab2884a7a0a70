// libFuzzer target for requests of HTTP: a prefix never says something else than the whole.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/httpreq.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const struct httpreq *a, const struct httpreq *b)
{
    return a->status == b->status && a->head == b->head && a->path_len == b->path_len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct httpreq first, r;
    bool whole = false;
    for (size_t n = 0; n <= size; n++) {
        bool now = httpreq_parse(text, n, &r);
        if (now && r.status == 0 &&
            (r.path[0] != '/' || r.path + r.path_len > text + n))
            abort();
        if (whole && (!now || !same(&r, &first)))
            abort();
        if (now && !whole)
            first = r;
        whole = now;
    }
    return 0;
}
