// Whole lines of many ranks to two file descriptors.
#include "launcher/output.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"

enum { PIECE = 4096 }; // a pipe that polls writable takes this much without blocking

// How a sink is written without ever blocking the loop.
enum sink_kind {
    SINK_FILE,        // a regular file: plain writes
    SINK_NONBLOCKING, // a terminal or pipe, opened anew: O_NONBLOCK for us alone
    SINK_SOCKET,      // MSG_DONTWAIT
    SINK_POLLED,      // could not be opened anew: pieces, when it polls writable
};

struct stream {
    struct buf line; // an unfinished line
    bool eof;
};

// Bytes of one stream in a sink's queue, in order.
struct owed {
    uint32_t rank;
    unsigned stream;
    size_t bytes;
};

struct sink {
    struct output *output;
    enum sink_kind kind;
    int fd;    // the user's, borrowed
    int write; // what is written to; owned when it is another one
    bool broken;
    struct event *writable;
    struct buf queue;
    struct buf owed; // struct owed[]
};

struct output {
    struct event_base *base;
    const struct output_ops *ops;
    void *arg;
    struct stream *streams; // [rank * 2 + (stream - 1)]
    uint32_t ranks, open;
    struct sink sinks[2];
};

// Gives back credit for `n` bytes that went out of the sink's front.
static void pay(struct sink *s, size_t n)
{
    struct output *o = s->output;
    while (n > 0 && buf_len(&s->owed) > 0) {
        struct owed *first = (struct owed *)(void *)buf_data(&s->owed);
        size_t part = first->bytes < n ? first->bytes : n;
        first->bytes -= part;
        n -= part;
        struct owed now = *first;
        if (now.bytes == 0)
            buf_take(&s->owed, sizeof now);
        if (now.rank != UINT32_MAX)
            o->ops->credit(o->arg, now.rank, now.stream, part);
    }
}

static ssize_t write_now(struct sink *s, size_t n)
{
    if (s->broken)
        return (ssize_t)n;
    if (s->kind == SINK_SOCKET)
        return send(s->write, buf_data(&s->queue), n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (s->kind == SINK_POLLED) {
        struct pollfd p = {.fd = s->write, .events = POLLOUT};
        n = n < PIECE ? n : PIECE;
        if (poll(&p, 1, 0) <= 0) {
            errno = EAGAIN;
            return -1;
        }
    }
    return write(s->write, buf_data(&s->queue), n);
}

static bool write_once(struct sink *s)
{
    size_t want = buf_len(&s->queue);
    ssize_t n = write_now(s, want);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < 0) {
        s->broken = true;
        s->output->ops->broken(s->output->arg, s->fd, errno);
        n = (ssize_t)want;
    }
    buf_take(&s->queue, (size_t)n);
    pay(s, (size_t)n);
    return true;
}

static void flush(struct sink *s)
{
    struct output *o = s->output;
    bool was = buf_len(&s->queue) > 0;
    while (buf_len(&s->queue) > 0 && write_once(s))
        ;
    if (buf_len(&s->queue) > 0)
        event_add(s->writable, NULL);
    else if (was && output_is_drained(o))
        o->ops->drained(o->arg);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    flush(arg);
}

// O_NONBLOCK belongs to the open file, which the shell and others share: so another one.
static int open_anew(int fd)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void open_sink(struct output *o, struct sink *s, int fd)
{
    struct stat st = {0};
    s->output = o;
    s->fd = s->write = fd;
    s->kind = SINK_POLLED;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        s->kind = SINK_FILE;
    else if (S_ISSOCK(st.st_mode))
        s->kind = SINK_SOCKET;
    else if ((s->write = open_anew(fd)) >= 0)
        s->kind = SINK_NONBLOCKING;
    else
        s->write = fd;
    s->writable = event_new(o->base, s->write, EV_WRITE, on_writable, s);
}

static void close_sink(struct sink *s)
{
    event_free(s->writable);
    if (s->write != s->fd)
        close(s->write);
    buf_free(&s->queue);
    buf_free(&s->owed);
}

struct output *output_create(struct event_base *base, int out_fd, int err_fd,
                             uint32_t ranks, const struct output_ops *ops, void *arg)
{
    struct output *o = xcalloc(1, sizeof *o);
    o->base = base;
    o->ops = ops;
    o->arg = arg;
    o->ranks = ranks;
    o->open = ranks * 2;
    o->streams = xcalloc((size_t)ranks * 2, sizeof *o->streams);
    open_sink(o, &o->sinks[0], out_fd);
    open_sink(o, &o->sinks[1], err_fd);
    return o;
}

void output_add(struct output *o, uint32_t ranks)
{
    size_t before = (size_t)o->ranks * 2, more = (size_t)ranks * 2;
    o->streams = xrealloc(o->streams, before + more, sizeof *o->streams);
    memset(o->streams + before, 0, more * sizeof *o->streams);
    o->ranks += ranks;
    o->open += (uint32_t)more;
}

void output_destroy(struct output *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < (size_t)o->ranks * 2; i++)
        buf_free(&o->streams[i].line);
    for (int i = 0; i < 2; i++)
        close_sink(&o->sinks[i]);
    free(o->streams);
    free(o);
}

static void enqueue(struct output *o, uint32_t rank, unsigned stream, const void *p,
                    size_t n)
{
    struct sink *s = &o->sinks[stream - 1];
    struct owed owed = {.rank = rank, .stream = stream, .bytes = n};
    if (n == 0)
        return;
    buf_append(&s->queue, p, n);
    buf_append(&s->owed, &owed, sizeof owed);
}

// What was held back as an unfinished line had its credit given back already.
static void enqueue_held(struct output *o, unsigned stream, struct buf *line)
{
    enqueue(o, UINT32_MAX, stream, buf_data(line), buf_len(line));
    buf_free(line);
}

void output_data(struct output *o, uint32_t rank, unsigned stream, const void *p,
                 size_t n)
{
    if (rank >= o->ranks || stream < 1 || stream > 2)
        return;
    struct stream *st = &o->streams[rank * 2 + stream - 1];
    const char *last = n > 0 ? memrchr(p, '\n', n) : NULL;
    size_t whole = last != NULL ? (size_t)(last - (const char *)p) + 1 : 0;
    if (whole > 0) {
        enqueue_held(o, stream, &st->line);
        enqueue(o, rank, stream, p, whole);
    }
    if (n > whole) {
        buf_append(&st->line, (const char *)p + whole, n - whole);
        o->ops->credit(o->arg, rank, stream, n - whole);
    }
    if (buf_len(&st->line) > OUTPUT_LINE_MAX)
        enqueue_held(o, stream, &st->line);
    flush(&o->sinks[stream - 1]);
}

void output_eof(struct output *o, uint32_t rank, unsigned stream)
{
    if (rank >= o->ranks || stream < 1 || stream > 2)
        return;
    struct stream *st = &o->streams[rank * 2 + stream - 1];
    if (st->eof)
        return;
    st->eof = true;
    o->open--;
    // A last line without its newline is ended, so that the next rank's begins its own.
    if (buf_len(&st->line) > 0) {
        buf_append(&st->line, "\n", o->ranks > 1 ? 1 : 0);
        enqueue_held(o, stream, &st->line);
        flush(&o->sinks[stream - 1]);
    } else if (output_is_drained(o)) {
        o->ops->drained(o->arg);
    }
}

bool output_is_drained(const struct output *o)
{
    return o->open == 0 && buf_len(&o->sinks[0].queue) == 0 &&
           buf_len(&o->sinks[1].queue) == 0;
}
