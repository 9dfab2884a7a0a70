// Links over a local byte stream: a thin coat over chan.
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "wire/chan.h"
#include "wire/link_core.h"

struct stream {
    struct link *link;
    struct chan *chan;
    struct event *start; // open at once, but from the loop
};

static void on_frame(void *arg, const struct frame *f)
{
    struct stream *s = arg;
    link_core_enter(s->link);
    link_core_opened(s->link); // when the peer was faster than on_start
    link_core_frame(s->link, f);
    link_core_leave(s->link);
}

static void on_closed(void *arg, const struct err *why)
{
    struct stream *s = arg;
    ERR_AUTO err = ERR_INIT;
    if (strcmp(why->kind, "PROTOCOL") == 0)
        err_copy(&err, why);
    else
        err_set_kind(&err, "LOST", 0, "the peer went without a goodbye (%s)",
                     err_text(why));
    link_core_enter(s->link);
    link_core_fail(s->link, &err);
    link_core_leave(s->link);
}

static const struct chan_ops chan_ops = {.frame = on_frame, .closed = on_closed};

static void on_start(int fd, short what, void *arg)
{
    struct stream *s = arg;
    link_core_enter(s->link);
    link_core_opened(s->link);
    link_core_leave(s->link);
}

static void stream_send(void *t, const struct frame *f)
{
    chan_send(((struct stream *)t)->chan, f);
}

static void stream_send_last(void *t, const struct frame *f)
{
    chan_send_last(((struct stream *)t)->chan, f);
}

static size_t stream_pending(const void *t)
{
    return chan_pending(((const struct stream *)t)->chan);
}

static uint64_t stream_received(const void *t)
{
    return chan_received(((const struct stream *)t)->chan);
}

static const char *stream_stage(const void *t)
{
    return "stream";
}

static void stream_destroy(void *t)
{
    struct stream *s = t;
    chan_destroy(s->chan);
    loop_timer_free(s->start);
    free(s);
}

static const struct link_transport_ops stream_ops = {
    .send = stream_send,
    .send_last = stream_send_last,
    .pending = stream_pending,
    .received = stream_received,
    .stage = stream_stage,
    .destroy = stream_destroy,
};

struct link *link_over_fds(const struct link_conf *conf, int in, int out,
                           const struct link_ops *ops, void *arg)
{
    struct stream *s = xcalloc(1, sizeof *s);
    s->link = link_core_create(conf, "stdio", LINK_OPENING, ops, arg);
    s->chan = chan_create(conf->base, in, out, &chan_ops, s);
    s->start = loop_timer(conf->base, on_start, s);
    link_core_attach(s->link, &stream_ops, s);
    event_active(s->start, EV_TIMEOUT, 0);
    return s->link;
}
