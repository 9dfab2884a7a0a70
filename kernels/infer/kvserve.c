// A turn of the loop is a slice: bufferevent asks for the next one when one is out.
#include "kernels/infer/kvserve.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/crc32.h"
#include "common/listener.h"
#include "common/mem.h"

struct hold {
    uint64_t number;
    uint32_t n;
};

enum state { READING, SENDING, ENDING };

struct conn {
    struct kvserve *of;
    struct bufferevent *io;
    enum state state;
    struct kvwire_pull pull;
    // SENDING: one layer's floats at a time, of which `at` bytes were given to io.
    float *layer;
    size_t at, bytes;
    uint32_t layers; // with it
    uint32_t crc;
    struct conn *prev, *next;
};

struct kvserve {
    struct event_base *base;
    struct listener *listener;
    const struct shard *shard;
    struct kvcache *kv;
    char model[KVWIRE_MODEL];
    struct hold *holds; // by slot
    uint32_t slots;
    struct conn *conns;
    size_t n;
};

static void end(struct conn *c)
{
    DL_DELETE(c->of->conns, c);
    c->of->n--;
    bufferevent_free(c->io);
    free(c->layer);
    free(c);
}

// -1: nobody holds it.
static int64_t slot_of(const struct kvserve *k, const struct kvwire_pull *p)
{
    for (uint32_t i = 0; i < k->slots; i++)
        if (k->holds[i].n > 0 && k->holds[i].number == p->hold)
            return p->n == k->holds[i].n ? (int64_t)i : -1;
    return -1;
}

static bool is_own(const struct kvserve *k, const struct kvwire_part *p)
{
    const struct kvwire_part own = kvwire_part_of(k->shard);
    const struct kvwire_part common = kvwire_common(&own, p);
    return p->layers > 0 && p->heads > 0 && p->layers <= own.layers &&
           p->heads <= own.heads && memcmp(&common, p, sizeof common) == 0;
}

// False: the slot may have another text by now.
static bool next_layer(struct conn *c)
{
    const struct kvserve *k = c->of;
    int64_t slot = slot_of(k, &c->pull);
    struct kvwire_part one = c->pull.part;
    if (slot < 0)
        return false;
    one.layer += c->layers++;
    one.layers = 1;
    kvcache_export(k->kv, (uint32_t)slot, &one, c->pull.n, c->layer);
    c->at = 0;
    return true;
}

static void send_end(struct conn *c)
{
    const struct kvwire_end e = {.magic = {'M', 'K', 'E', '1'}, .crc = c->crc};
    bufferevent_write(c->io, &e, sizeof e);
    c->state = ENDING;
}

static void send_slice(struct conn *c)
{
    if (c->at == c->bytes && c->layers == c->pull.part.layers) {
        send_end(c);
        return;
    }
    if (c->at == c->bytes && !next_layer(c)) {
        end(c);
        return;
    }
    const char *from = (const char *)c->layer + c->at;
    size_t left = c->bytes - c->at, n = left < KVSERVE_SLICE ? left : KVSERVE_SLICE;
    c->crc = crc32_add(c->crc, from, n);
    bufferevent_write(c->io, from, n);
    c->at += n;
}

static void answer(struct conn *c)
{
    const struct kvserve *k = c->of;
    const struct kvwire_pull *p = &c->pull;
    struct kvwire_data d = {.magic = {'M', 'K', 'D', '2'},
                            .status = KVWIRE_GONE,
                            .hold = p->hold,
                            .part = p->part,
                            .n = p->n};
    memcpy(d.model, k->model, sizeof d.model);
    c->state = ENDING;
    if (slot_of(k, p) >= 0 && is_own(k, &p->part)) {
        c->state = SENDING;
        d.status = KVWIRE_OK;
        d.bytes = kvwire_bytes(&p->part, k->shard->head_dim, p->n);
        c->at = c->bytes = d.bytes / p->part.layers;
        c->layer = xmalloc(c->bytes);
    }
    bufferevent_write(c->io, &d, sizeof d);
}

static void on_read(struct bufferevent *io, void *arg)
{
    struct conn *c = arg;
    struct evbuffer *in = bufferevent_get_input(io);
    if (c->state != READING || evbuffer_get_length(in) < sizeof c->pull)
        return;
    evbuffer_remove(in, &c->pull, sizeof c->pull);
    if (memcmp(c->pull.magic, "MKP1", 4) != 0)
        end(c);
    else
        answer(c);
}

static void on_written(struct bufferevent *io, void *arg)
{
    struct conn *c = arg;
    switch (c->state) {
    case READING: break;
    case SENDING: send_slice(c); break;
    case ENDING: end(c); break;
    }
}

static void on_event(struct bufferevent *io, short what, void *arg)
{
    end(arg);
}

static void on_accept(void *arg, int fd)
{
    struct kvserve *k = arg;
    const struct timeval life = {.tv_sec = KVSERVE_LIFE_MS / 1000};
    struct bufferevent *io =
        k->n < KVSERVE_CONNECTIONS_MAX
            ? bufferevent_socket_new(k->base, fd, BEV_OPT_CLOSE_ON_FREE)
            : NULL;
    if (io == NULL) {
        evutil_closesocket(fd);
        return;
    }
    struct conn *c = xcalloc(1, sizeof *c);
    *c = (struct conn){.of = k, .io = io};
    DL_APPEND(k->conns, c);
    k->n++;
    bufferevent_setcb(io, on_read, on_written, on_event, c);
    bufferevent_set_max_single_write(io, KVSERVE_SLICE);
    bufferevent_setwatermark(io, EV_READ, 0, sizeof(struct kvwire_pull));
    bufferevent_set_timeouts(io, &life, &life);
    bufferevent_enable(io, EV_READ | EV_WRITE);
}

struct kvserve *kvserve_create(struct event_base *base, const char *address,
                               const struct shard *shard, struct kvcache *kv,
                               uint32_t slots, const char *model, struct err *err)
{
    bool v6 = strchr(address, ':') != NULL;
    CLEANUP_FREE char *where = xasprintf(v6 ? "[%s]:0" : "%s:0", address);
    struct kvserve *k = xcalloc(1, sizeof *k);
    *k = (struct kvserve){.base = base, .shard = shard, .kv = kv, .slots = slots};
    memcpy(k->model, model, KVWIRE_MODEL);
    k->holds = xcalloc(slots, sizeof *k->holds);
    k->listener = listener_create(base, where, "hand-over", on_accept, k, NULL, err);
    if (k->listener != NULL)
        return k;
    free(k->holds);
    free(k);
    return NULL;
}

void kvserve_destroy(struct kvserve *k)
{
    if (k == NULL)
        return;
    while (k->conns != NULL)
        end(k->conns);
    listener_destroy(k->listener);
    free(k->holds);
    free(k);
}

uint32_t kvserve_port(const struct kvserve *k)
{
    return (uint32_t)listener_port(k->listener);
}

void kvserve_hold(struct kvserve *k, uint32_t slot, uint64_t hold, uint32_t n)
{
    k->holds[slot] = (struct hold){.number = hold, .n = n};
}
