// Sizes are checked by the compiler, contents by the receiver.
#include "kernels/infer/kvwire.h"

#include <string.h>

#include "kernels/infer/tcp.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "what is sent is little-endian"
#endif

_Static_assert(sizeof(struct kvwire_ask) == 72, "as it is sent");
_Static_assert(sizeof(struct kvwire_ready) == 24, "as it is sent");
_Static_assert(sizeof(struct kvwire_source) == 68, "as it is sent");
_Static_assert(sizeof(struct kvwire_pull) == 32, "as it is sent");
_Static_assert(sizeof(struct kvwire_data) == 112, "as it is sent");
_Static_assert(sizeof(struct kvwire_end) == 8, "as it is sent");

struct kvwire_ask kvwire_ask_of(const char *model, uint32_t n)
{
    struct kvwire_ask a = {.magic = {'M', 'K', 'A', '1'}, .n = n};
    memcpy(a.model, model, KVWIRE_MODEL);
    return a;
}

struct kvwire_part kvwire_part_of(const struct shard *s)
{
    return (struct kvwire_part){.layer = (uint32_t)s->layers.at,
                                .layers = (uint32_t)s->layers.n,
                                .head = (uint32_t)s->kv_heads.at,
                                .heads = (uint32_t)s->kv_heads.n};
}

static void overlap(uint32_t a, uint32_t na, uint32_t b, uint32_t nb, uint32_t *at,
                    uint32_t *n)
{
    uint32_t end = a + na < b + nb ? a + na : b + nb;
    *at = a > b ? a : b;
    *n = end > *at ? end - *at : 0;
}

struct kvwire_part kvwire_common(const struct kvwire_part *a,
                                 const struct kvwire_part *b)
{
    struct kvwire_part c;
    overlap(a->layer, a->layers, b->layer, b->layers, &c.layer, &c.layers);
    overlap(a->head, a->heads, b->head, b->heads, &c.head, &c.heads);
    return c;
}

size_t kvwire_bytes(const struct kvwire_part *p, size_t head_dim, uint32_t n)
{
    return (size_t)p->layers * 2 * n * p->heads * head_dim * sizeof(float);
}

const char *kvwire_status_text(uint32_t status)
{
    switch (status) {
    case KVWIRE_OK: return "ok";
    case KVWIRE_BUSY: return "too many prompts wait there";
    case KVWIRE_OTHER_MODEL: return "it has another model (checkpoint)";
    case KVWIRE_TOO_LONG: return "its context is shorter";
    case KVWIRE_GONE: return "it does not hold these positions any more";
    default: return "it gave an unknown answer";
    }
}

static int refuse(struct err *err, const char *what)
{
    err_set(err, "%s", what);
    return -1;
}

int kvwire_check_ready(const struct kvwire_ready *r, struct err *err)
{
    if (memcmp(r->magic, "MKR1", 4) != 0)
        return refuse(err, "no prefill rank of this version answers there");
    if (r->status != KVWIRE_OK)
        return refuse(err, kvwire_status_text(r->status));
    if (r->nsources == 0 || r->nsources > KVWIRE_SOURCES_MAX)
        return refuse(err, "it names no ranks, or too many");
    return 0;
}

int kvwire_check_sources(const struct kvwire_source *sources, size_t n, struct err *err)
{
    struct sockaddr_storage to;
    socklen_t len;
    for (size_t i = 0; i < n; i++) {
        const struct kvwire_source *s = &sources[i];
        if (memchr(s->address, '\0', sizeof s->address) == NULL ||
            tcp_address(s->address, s->port, &to, &len) < 0) {
            err_set(err, "rank %zu that it names has no address and port", i);
            return -1;
        }
    }
    return 0;
}

int kvwire_check_data(const struct kvwire_data *d, const struct kvwire_pull *pull,
                      const char *model, size_t head_dim, struct err *err)
{
    if (memcmp(d->magic, "MKD2", 4) != 0)
        return refuse(err, "no prefill rank of this version answers there");
    if (d->status != KVWIRE_OK)
        return refuse(err, kvwire_status_text(d->status));
    if (memcmp(d->model, model, KVWIRE_MODEL) != 0)
        return refuse(err, kvwire_status_text(KVWIRE_OTHER_MODEL));
    if (d->hold != pull->hold || d->n != pull->n ||
        memcmp(&d->part, &pull->part, sizeof d->part) != 0)
        return refuse(err,
                      "it sends other positions, layers or heads than were asked for");
    if (d->bytes != kvwire_bytes(&pull->part, head_dim, pull->n))
        return refuse(err, "its heads have another size");
    return 0;
}

int kvwire_check_end(const struct kvwire_end *e, uint32_t crc, struct err *err)
{
    if (memcmp(e->magic, "MKE1", 4) == 0 && e->crc == crc)
        return 0;
    return refuse(err, "the checksum of what it sent is wrong");
}
