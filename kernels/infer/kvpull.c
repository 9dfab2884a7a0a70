// One source after the other, each for what it has of this rank's layers and heads.
#include "kernels/infer/kvpull.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/crc32.h"
#include "common/loop.h"
#include "common/mem.h"
#include "kernels/infer/tcp.h"

// What a state's work returns beside the next state: WAITS for its event or the next turn.
enum state {
    NEXT,
    CONNECTING,
    ASKING,
    HEAD,
    FLOATS,
    END,
    STORING,
    WAITS,
    OVER,
    FAILED
};

struct kvpull {
    struct event_base *base;
    struct event *event;
    const struct shard *shard;
    struct kvcache *kv;
    struct kvpull_what what; // names the copies below
    char *model;
    struct kvwire_source *sources;
    kvpull_fn *over;
    void *arg;

    enum state state;
    uint64_t until;
    size_t budget;  // bytes that this turn may still work on
    uint8_t *there; // [layer][head] of this rank's own: 1: it has come
    uint32_t tried; // sources

    // Of the source that is pulled from (NULL: none).
    const struct kvwire_source *source;
    int fd;
    struct kvwire_pull ask;
    struct kvwire_data head;
    struct kvwire_end end;
    float *floats;
    size_t at;       // bytes of what is sent or comes in this state
    uint32_t crc;    // of as many floats
    uint32_t stored; // layers
};

// ---- sources ----------------------------------------------------------------------

static void leave_source(struct kvpull *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    free(p->floats);
    p->floats = NULL;
    p->source = NULL;
}

static int check_whole(const struct kvpull *p, struct err *err)
{
    const struct kvwire_part own = kvwire_part_of(p->shard);
    if (memchr(p->there, 0, (size_t)own.layers * own.heads) == NULL)
        return OVER;
    err_set(err, "the prefill ranks do not have all layers and heads of this rank");
    return FAILED;
}

static int connect_next(struct kvpull *p, struct err *err)
{
    const struct kvwire_part own = kvwire_part_of(p->shard);
    while (p->tried < p->what.nsources) {
        const struct kvwire_source *source = &p->what.sources[p->tried++];
        struct kvwire_part part = kvwire_common(&own, &source->part);
        if (part.layers == 0 || part.heads == 0)
            continue;
        p->source = source;
        p->ask = (struct kvwire_pull){.magic = {'M', 'K', 'P', '1'},
                                      .n = p->what.n,
                                      .hold = p->what.hold,
                                      .part = part};
        p->fd = tcp_connect(source->address, source->port, err);
        p->state = CONNECTING; // the outcome is an event
        return p->fd < 0 ? FAILED : WAITS;
    }
    return check_whole(p, err);
}

static int see_connected(struct kvpull *p, struct err *err)
{
    p->at = 0;
    return tcp_connected(p->fd, err) < 0 ? FAILED : ASKING;
}

static int send_ask(struct kvpull *p, struct err *err)
{
    if (tcp_write(p->fd, &p->ask, sizeof p->ask, &p->at, p->budget, err) < 0)
        return FAILED;
    if (p->at < sizeof p->ask)
        return WAITS;
    p->at = 0;
    return HEAD;
}

static int read_head(struct kvpull *p, struct err *err)
{
    if (tcp_read(p->fd, &p->head, sizeof p->head, &p->at, p->budget, err) < 0)
        return FAILED;
    if (p->at < sizeof p->head)
        return WAITS;
    if (kvwire_check_data(&p->head, &p->ask, p->what.model, p->shard->head_dim, err) <
        0)
        return FAILED;
    p->floats = xmalloc(p->head.bytes);
    p->at = 0;
    p->crc = 0;
    return FLOATS;
}

static int read_floats(struct kvpull *p, struct err *err)
{
    size_t before = p->at;
    if (tcp_read(p->fd, p->floats, p->head.bytes, &p->at, p->budget, err) < 0)
        return FAILED;
    p->crc = crc32_add(p->crc, (char *)p->floats + before, p->at - before);
    p->budget -= p->at - before;
    if (p->at < p->head.bytes)
        return WAITS;
    p->at = 0;
    return END;
}

static int read_end(struct kvpull *p, struct err *err)
{
    if (tcp_read(p->fd, &p->end, sizeof p->end, &p->at, sizeof p->end, err) < 0)
        return FAILED;
    if (p->at < sizeof p->end)
        return WAITS;
    p->stored = 0;
    return kvwire_check_end(&p->end, p->crc, err) < 0 ? FAILED : STORING;
}

static void mark(struct kvpull *p, uint32_t layer)
{
    const struct kvwire_part own = kvwire_part_of(p->shard), *part = &p->ask.part;
    memset(p->there + (size_t)(layer - own.layer) * own.heads + (part->head - own.head),
           1, part->heads);
}

static int store_layer(struct kvpull *p, struct err *err)
{
    struct kvwire_part one = p->ask.part;
    size_t bytes = p->head.bytes / one.layers;
    if (p->budget == 0)
        return WAITS;
    p->budget -= bytes < p->budget ? bytes : p->budget;
    one.layer += p->stored;
    one.layers = 1;
    kvcache_import(p->kv, p->what.slot, &one, p->what.n,
                   p->floats + p->stored * (bytes / sizeof *p->floats));
    mark(p, one.layer);
    if (++p->stored < p->ask.part.layers)
        return STORING;
    leave_source(p);
    return NEXT;
}

// ---- turns ------------------------------------------------------------------------

// What each state waits for of the connection (0: the next turn), and what it does then.
static const struct {
    short event;
    int (*work)(struct kvpull *p, struct err *err);
} states[] = {
    [NEXT] = {0, connect_next},        [CONNECTING] = {EV_WRITE, see_connected},
    [ASKING] = {EV_WRITE, send_ask},   [HEAD] = {EV_READ, read_head},
    [FLOATS] = {EV_READ, read_floats}, [END] = {EV_READ, read_end},
    [STORING] = {0, store_layer},
};

static void on_turn(int fd, short what, void *arg);

static void wait_for_turn(struct kvpull *p)
{
    short event = states[p->state].event;
    uint64_t now = loop_now_ms(), left = p->until > now ? p->until - now : 0;
    uint64_t ms = event == 0               ? 0
                  : p->state == CONNECTING ? KVPULL_CONNECT_MS
                                           : p->what.quiet_ms;
    ms = ms < left ? ms : left;
    if (p->event != NULL)
        event_free(p->event);
    p->event = event_new(p->base, event != 0 ? p->fd : -1, event, on_turn, p);
    event_add(p->event, &(struct timeval){.tv_sec = (time_t)(ms / 1000),
                                          .tv_usec = (suseconds_t)(ms % 1000) * 1000});
}

static int late(const struct kvpull *p, struct err *err)
{
    if (loop_now_ms() >= p->until)
        err_set(err, "it took longer than %d s", KVPULL_MS / 1000);
    else if (p->state == CONNECTING)
        err_set_errno(err, ETIMEDOUT, "it cannot be connected");
    else if (p->state == FLOATS)
        err_set(err, "nothing came for %u ms, with %zu bytes to come", p->what.quiet_ms,
                (size_t)p->head.bytes - p->at);
    else
        err_set(err, "it did not answer for %u ms", p->what.quiet_ms);
    return FAILED;
}

static void finish(struct kvpull *p, struct err *err)
{
    if (err->text != NULL && p->source != NULL)
        err_prefix(err, "%s port %u", p->source->address, p->source->port);
    event_free(p->event);
    p->event = NULL;
    p->over(p->arg, err->text);
}

// A turn goes through as many states as it can.
static void on_turn(int fd, short what, void *arg)
{
    struct kvpull *p = arg;
    ERR_AUTO err = ERR_INIT;
    int next = (int)p->state;
    p->budget = KVPULL_SLICE;
    if (states[p->state].event != 0 && what == EV_TIMEOUT)
        next = late(p, &err);
    while (next < WAITS) {
        p->state = (enum state)next;
        next = states[p->state].work(p, &err);
    }
    if (next == WAITS && loop_now_ms() >= p->until)
        next = late(p, &err);
    if (next == WAITS)
        wait_for_turn(p);
    else
        finish(p, &err);
}

// ---- making -----------------------------------------------------------------------

struct kvpull *kvpull_start(struct event_base *base, const struct shard *shard,
                            struct kvcache *kv, const struct kvpull_what *what,
                            kvpull_fn *over, void *arg)
{
    const struct kvwire_part own = kvwire_part_of(shard);
    struct kvpull *p = xcalloc(1, sizeof *p);
    *p = (struct kvpull){.base = base,
                         .shard = shard,
                         .kv = kv,
                         .what = *what,
                         .over = over,
                         .arg = arg,
                         .until = loop_now_ms() + KVPULL_MS,
                         .fd = -1};
    p->what.model = p->model = xstrndup(what->model, KVWIRE_MODEL);
    p->what.sources = p->sources =
        xmemdup(what->sources, what->nsources * sizeof *what->sources);
    if (what->quiet_ms == 0)
        p->what.quiet_ms = KVPULL_QUIET_MS;
    p->there = xcalloc((size_t)own.layers * own.heads + 1, sizeof *p->there);
    wait_for_turn(p);
    return p;
}

void kvpull_destroy(struct kvpull *p)
{
    if (p == NULL)
        return;
    if (p->event != NULL)
        event_free(p->event); // before its connection
    leave_source(p);
    free(p->model);
    free(p->sources);
    free(p->there);
    free(p);
}
