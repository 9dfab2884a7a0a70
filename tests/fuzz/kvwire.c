// libFuzzer target for what prefill and decode ranks hear from each other: a pull, a ready, a data,
// a source and an end, as they are sent; what is cut off is zero.
#include <string.h>

#include "demand.h"
#include "kernels/infer/kvwire.h"
#include "kernels/infer/tcp.h"

enum { HEAD_DIM = 8 };

struct input {
    struct kvwire_pull pull;
    struct kvwire_ready ready;
    struct kvwire_data data;
    struct kvwire_source source;
    struct kvwire_end end;
};

static bool is_in(uint64_t at, uint64_t n, uint64_t in, uint64_t in_n)
{
    return at >= in && at + n <= in + in_n;
}

// What two parts have in common is in both, whatever the one says that came over the network.
static void check_common(const struct kvwire_part *said)
{
    const struct kvwire_part own = {.layer = 2, .layers = 3, .head = 1, .heads = 4};
    struct kvwire_part c = kvwire_common(&own, said);
    demand(c.layers == 0 || (is_in(c.layer, c.layers, own.layer, own.layers) &&
                             is_in(c.layer, c.layers, said->layer, said->layers)),
           "layers that one of them does not have");
    demand(c.heads == 0 || (is_in(c.head, c.heads, own.head, own.heads) &&
                            is_in(c.head, c.heads, said->head, said->heads)),
           "heads that one of them does not have");
    demand(kvwire_bytes(&c, HEAD_DIM, 1) <= kvwire_bytes(&own, HEAD_DIM, 1),
           "its size");
}

static void check_ready(const struct kvwire_ready *r)
{
    ERR_AUTO err = ERR_INIT;
    if (kvwire_check_ready(r, &err) < 0)
        demand_error(&err);
    else
        demand(r->status == KVWIRE_OK && r->nsources >= 1 &&
                   r->nsources <= KVWIRE_SOURCES_MAX,
               "an answer without sources, or with too many");
}

static void check_source(const struct kvwire_source *s)
{
    ERR_AUTO err = ERR_INIT;
    if (kvwire_check_sources(s, 1, &err) < 0)
        demand_error(&err);
    else
        demand(strspn(s->address, "0123456789abcdefABCDEF.:") == strlen(s->address) &&
                   s->port >= 1 && s->port <= 65535,
               "no address and port");
}

static void check_data(const struct kvwire_data *d, const struct kvwire_pull *pull)
{
    static const char model[KVWIRE_MODEL + 1] =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    ERR_AUTO err = ERR_INIT;
    if (kvwire_check_data(d, pull, model, HEAD_DIM, &err) < 0)
        demand_error(&err);
    else
        demand(d->bytes == kvwire_bytes(&d->part, HEAD_DIM, d->n) && d->n == pull->n &&
                   d->hold == pull->hold,
               "data that was not asked for");
}

static void check_end(const struct kvwire_end *e)
{
    ERR_AUTO err = ERR_INIT;
    if (kvwire_check_end(e, 0x600d, &err) < 0)
        demand_error(&err);
    else
        demand(e->crc == 0x600d, "another checksum");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {0};
    memcpy(&in, data, size < sizeof in ? size : sizeof in);
    check_common(&in.pull.part);
    check_common(&in.source.part);
    check_ready(&in.ready);
    check_source(&in.source);
    check_data(&in.data, &in.pull);
    check_end(&in.end);
    kvwire_status_text(in.ready.status);
    return 0;
}
