// Frames over a local byte stream, in the event loop.
#include "wire/chan.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "wire/msg.h"

enum { READ_PIECE = 64 * 1024, WRITE_LOW = 128 * 1024 };

struct chan {
    int in, out;
    struct event *readable, *writable;
    const struct chan_ops *ops;
    void *arg;
    struct buf received;
    struct buf writing; // whole frames in their final order
    struct buf bulk;    // bulk frames that wait behind
    uint64_t total;     // bytes received so far
    bool dead;          // closed() was called
    int depth;          // callbacks on the stack
    bool doomed;        // destroy when depth is 0
};

static void free_chan(struct chan *c)
{
    event_free(c->readable);
    event_free(c->writable);
    close(c->in);
    if (c->out != c->in)
        close(c->out);
    buf_free(&c->received);
    buf_free(&c->writing);
    buf_free(&c->bulk);
    free(c);
}

static void enter(struct chan *c)
{
    c->depth++;
}

static void leave(struct chan *c)
{
    if (--c->depth == 0 && c->doomed)
        free_chan(c);
}

static void die(struct chan *c, const struct err *why)
{
    if (c->dead)
        return;
    c->dead = true;
    event_del(c->readable);
    event_del(c->writable);
    if (!c->doomed)
        c->ops->closed(c->arg, why);
}

static void die_text(struct chan *c, int errnum)
{
    ERR_AUTO err = ERR_INIT;
    if (errnum == 0 || errnum == EPIPE || errnum == ECONNRESET)
        err_set_kind(&err, "LOST", 0, "closed");
    else
        err_set_kind(&err, "LOST", 0, "stream: %s", strerror(errnum));
    die(c, &err);
}

static void deliver(struct chan *c)
{
    ERR_AUTO err = ERR_INIT;
    struct frame f;
    size_t used = 0;
    int got = 0;
    while (!c->dead && !c->doomed &&
           (got = frame_decode(&c->received, &f, &used, &err)) == 1) {
        c->ops->frame(c->arg, &f);
        buf_take(&c->received, used);
    }
    if (got < 0) {
        err.kind = "PROTOCOL";
        die(c, &err);
    }
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct chan *c = arg;
    enter(c);
    ssize_t n = read(c->in, buf_reserve(&c->received, READ_PIECE), READ_PIECE);
    if (n > 0) {
        buf_commit(&c->received, (size_t)n);
        c->total += (uint64_t)n;
        deliver(c);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        die_text(c, n == 0 ? 0 : errno);
    }
    leave(c);
}

// Moves one bulk frame behind the control frames when the queue runs low.
static void refill(struct chan *c)
{
    while (buf_len(&c->writing) < WRITE_LOW && buf_len(&c->bulk) > 0) {
        struct frame f;
        size_t used = 0;
        if (frame_decode(&c->bulk, &f, &used, NULL) != 1)
            return;
        buf_append(&c->writing, buf_data(&c->bulk), used);
        buf_take(&c->bulk, used);
    }
}

static void write_some(struct chan *c)
{
    for (;;) {
        refill(c);
        if (buf_len(&c->writing) == 0) {
            event_del(c->writable);
            return;
        }
        ssize_t n = write(c->out, buf_data(&c->writing), buf_len(&c->writing));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            event_add(c->writable, NULL);
            return;
        }
        if (n < 0) {
            // What the peer said before it went is still to be read: only stop writing.
            buf_free(&c->writing);
            buf_free(&c->bulk);
            event_del(c->writable);
            return;
        }
        buf_take(&c->writing, (size_t)n);
    }
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    write_some(arg);
}

struct chan *chan_create(struct event_base *base, int in, int out,
                         const struct chan_ops *ops, void *arg)
{
    struct chan *c = xcalloc(1, sizeof *c);
    c->in = in;
    c->out = out;
    c->ops = ops;
    c->arg = arg;
    proc_set_nonblock(in);
    proc_set_nonblock(out);
    c->readable = event_new(base, in, EV_READ | EV_PERSIST, on_readable, c);
    c->writable = event_new(base, out, EV_WRITE | EV_PERSIST, on_writable, c);
    event_add(c->readable, NULL);
    return c;
}

void chan_destroy(struct chan *c)
{
    if (c == NULL)
        return;
    c->doomed = true;
    if (c->depth == 0)
        free_chan(c);
}

void chan_send(struct chan *c, const struct frame *f)
{
    if (c->dead || c->doomed)
        return;
    frame_encode(frame_is_bulk(f->kind) ? &c->bulk : &c->writing, f);
    // Written from the loop, so that what is sent together goes in one write.
    event_add(c->writable, NULL);
}

void chan_send_msg(struct chan *c, const struct frame *f, const ProtobufCMessage *msg)
{
    BUF_AUTO body = BUF_INIT;
    struct frame out = *f;
    msg_pack(&out, &body, msg);
    chan_send(c, &out);
}

void chan_send_last(struct chan *c, const struct frame *f)
{
    if (c->dead || c->doomed)
        return;
    // The bulk queue is drained last and in order, whatever it holds.
    frame_encode(&c->bulk, f);
    event_add(c->writable, NULL);
}

size_t chan_pending(const struct chan *c)
{
    return buf_len(&c->writing) + buf_len(&c->bulk);
}

uint64_t chan_received(const struct chan *c)
{
    return c->total;
}

void chan_flush(struct chan *c, int ms)
{
    uint64_t end = loop_now_ms() + (uint64_t)ms;
    while (chan_pending(c) > 0 && !c->dead) {
        write_some(c);
        uint64_t now = loop_now_ms();
        struct pollfd p = {.fd = c->out, .events = POLLOUT};
        if (chan_pending(c) == 0 || now >= end || poll(&p, 1, (int)(end - now)) <= 0)
            return;
    }
}
