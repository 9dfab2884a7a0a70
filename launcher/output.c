// Whole lines of many ranks to two file descriptors.
#include "launcher/output.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/std.h"

enum { PIECE = 4096 }; // a pipe that polls writable takes this much without blocking

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
    int fd;    // the user's
    int own;   // the same, without blocking; -1: there is no such way
    bool poll; // can block
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
    bool joined; // stdout and stderr are one file: all goes through the first sink
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

static bool write_once(struct sink *s)
{
    size_t want = buf_len(&s->queue);
    if (s->poll && want > PIECE)
        want = PIECE;
    int fd = s->own >= 0 ? s->own : s->fd;
    ssize_t n = s->broken ? (ssize_t)want : write(fd, buf_data(&s->queue), want);
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

static bool is_writable(const struct sink *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLOUT};
    return !s->poll || s->broken || poll(&p, 1, 0) > 0;
}

static void flush(struct sink *s)
{
    struct output *o = s->output;
    bool was = buf_len(&s->queue) > 0;
    while (buf_len(&s->queue) > 0 && is_writable(s) && write_once(s))
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

static void open_sink(struct output *o, struct sink *s, int fd)
{
    struct stat st;
    s->output = o;
    s->fd = fd;
    s->own = std_reopen_nonblock(fd);
    s->poll = s->own < 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode));
    s->writable =
        event_new(o->base, s->own >= 0 ? s->own : fd, EV_WRITE, on_writable, s);
}

static bool same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static struct sink *sink_of(struct output *o, unsigned stream)
{
    return &o->sinks[o->joined ? 0 : stream - 1];
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
    o->joined = same_file(out_fd, err_fd);
    return o;
}

void output_destroy(struct output *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < (size_t)o->ranks * 2; i++)
        buf_free(&o->streams[i].line);
    for (int i = 0; i < 2; i++) {
        event_free(o->sinks[i].writable);
        mem_cleanup_close(&o->sinks[i].own);
        buf_free(&o->sinks[i].queue);
        buf_free(&o->sinks[i].owed);
    }
    free(o->streams);
    free(o);
}

static void enqueue(struct output *o, uint32_t rank, unsigned stream, const void *p,
                    size_t n)
{
    struct sink *s = sink_of(o, stream);
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
    flush(sink_of(o, stream));
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
        flush(sink_of(o, stream));
    } else if (output_is_drained(o)) {
        o->ops->drained(o->arg);
    }
}

bool output_is_drained(const struct output *o)
{
    return o->open == 0 && buf_len(&o->sinks[0].queue) == 0 &&
           buf_len(&o->sinks[1].queue) == 0;
}
