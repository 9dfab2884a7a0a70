// Frames over a socketpair.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "wire/chan.h"

struct end {
    struct event_base *base;
    struct chan *chan;
    uint16_t kinds[64];
    size_t n, stop_at, bytes;
    bool closed;
};

static void on_frame(void *arg, const struct frame *f)
{
    struct end *e = arg;
    if (e->n < 64)
        e->kinds[e->n] = f->kind;
    e->bytes += f->len;
    if (++e->n == e->stop_at)
        event_base_loopbreak(e->base);
}

static void on_closed(void *arg, const struct err *why)
{
    struct end *e = arg;
    e->closed = true;
    event_base_loopbreak(e->base);
}

static const struct chan_ops ops = {on_frame, on_closed};

static void make_pair(struct event_base *base, struct end *a, struct end *b)
{
    int sv[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    a->base = b->base = base;
    a->chan = chan_create(base, sv[0], sv[0], &ops, a);
    b->chan = chan_create(base, sv[1], sv[1], &ops, b);
}

Test(chan, control_overtakes_bulk_that_waits, .timeout = 20)
{
    struct event_base *base = loop_create();
    struct end a = {0}, b = {.stop_at = 41};
    make_pair(base, &a, &b);
    CLEANUP_FREE uint8_t *piece = xcalloc(1, FRAME_BULK_MAX);
    struct frame bulk = {.kind = FRAME_OUTPUT, .body = piece, .len = FRAME_BULK_MAX};
    for (int i = 0; i < 40; i++)
        chan_send(a.chan, &bulk);
    chan_send(a.chan, &(struct frame){.kind = FRAME_EXITED});
    event_base_dispatch(base);
    cr_assert_eq(b.n, 41);
    cr_assert_eq(b.bytes, 40u * FRAME_BULK_MAX);
    size_t at = 0;
    while (at < 41 && b.kinds[at] != FRAME_EXITED)
        at++;
    cr_assert_lt(at, 4, "came as number %zu", at);
    chan_destroy(a.chan);
    chan_destroy(b.chan);
    loop_destroy(base);
}

Test(chan, says_once_that_the_other_end_went, .timeout = 20)
{
    struct event_base *base = loop_create();
    struct end a = {0}, b = {0};
    make_pair(base, &a, &b);
    chan_send(a.chan, &(struct frame){.kind = FRAME_PING});
    chan_flush(a.chan, 1000);
    chan_destroy(a.chan);
    event_base_dispatch(base);
    cr_assert_eq(b.n, 1);
    cr_assert(b.closed);
    chan_send(b.chan, &(struct frame){.kind = FRAME_PING}); // dropped
    chan_destroy(b.chan);
    loop_destroy(base);
}
