// libFuzzer target for PMI-1: what a rank says, whole and in pieces, and what other nodes put.
#include <string.h>

#include "agent/pmi1_kvs.h"
#include "agent/pmi1_parse.h"
#include "common/mem.h"
#include "demand.h"

static void describe(const struct pmi1_cmd *cmd, struct buf *out)
{
    buf_printf(out, "%s", cmd->name);
    for (size_t p = 0; p < cmd->nparts; p++)
        for (size_t i = 0; i < cmd->parts[p].n; i++) {
            CLEANUP_FREE char *plain = pmi1_unescape(cmd->parts[p].v[i]);
            demand(strlen(plain) <= strlen(cmd->parts[p].v[i]), "it grew");
            buf_printf(out, " %zu:%s", p, cmd->parts[p].v[i]);
        }
    buf_append_str(out, "\n");
}

// All commands until more is needed or it is broken, which ends it.
static bool take(struct pmi1_parse *p, struct buf *out)
{
    ERR_AUTO err = ERR_INIT;
    const struct pmi1_cmd *cmd;
    int rc;
    while ((rc = pmi1_parse_next(p, &cmd, &err)) > 0)
        describe(cmd, out);
    if (rc == 0)
        return true;
    demand_error(&err);
    buf_append_str(out, "broken\n");
    return false;
}

// In pieces of `n` bytes.
static void parse(const uint8_t *data, size_t size, size_t n, struct buf *out)
{
    struct pmi1_parse *p = pmi1_parse_create();
    bool good = true;
    for (size_t at = 0; good && at < size; at += n) {
        pmi1_parse_feed(p, data + at, n < size - at ? n : size - at);
        good = take(p, out);
    }
    pmi1_parse_destroy(p);
}

static void merge(const uint8_t *data, size_t size)
{
    enum { BYTES_MAX = 2048 };
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO out = BUF_INIT;
    struct pmi1_kvs *kvs = pmi1_kvs_create(BYTES_MAX);
    if (pmi1_kvs_merge(kvs, data, size, &err) < 0)
        demand_error(&err);
    pmi1_kvs_take_new(kvs, &out);
    demand(buf_len(&out) == 0, "what others put goes out again");
    pmi1_kvs_destroy(kvs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BUF_AUTO whole = BUF_INIT;
    BUF_AUTO pieces = BUF_INIT;
    parse(data, size, size + 1, &whole);
    parse(data, size, 1 + size % 7, &pieces);
    demand(buf_len(&whole) == buf_len(&pieces) &&
               (buf_len(&whole) == 0 ||
                memcmp(buf_data(&whole), buf_data(&pieces), buf_len(&whole)) == 0),
           "in pieces it says something else");
    merge(data, size);
    return 0;
}
