// Pipes of one rank, read as credit allows.
#include "agent/rank_io.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/mem.h"
#include "wire/frame.h"

struct stream {
    struct rank_io *io; // borrowed
    uint32_t number;
    int fd; // our end; -1: ended
    struct event *readable;
    uint64_t credit;
    bool final; // an empty pipe is the end
};

struct rank_io {
    rank_io_output_fn output;
    void *arg;
    struct stream out, err;
    struct rank_in *in; // NULL: /dev/null
    struct proc_fd child[RANK_IO_STREAMS];
};

static void end_stream(struct stream *s)
{
    event_free(s->readable);
    close(s->fd);
    s->readable = NULL;
    s->fd = -1;
    s->io->output(s->io->arg, s->number, NULL, 0, true);
}

// Takes one piece. Returns false when there is nothing to do until the loop or credit
// says so.
static bool read_piece(struct stream *s)
{
    uint8_t piece[FRAME_BULK_MAX];
    size_t want = s->credit < sizeof piece ? (size_t)s->credit : sizeof piece;
    ssize_t n = read(s->fd, piece, want);
    if (n > 0) {
        s->credit -= (uint64_t)n;
        s->io->output(s->io->arg, s->number, piece, (size_t)n, false);
        return true;
    }
    if (n < 0 && errno == EINTR)
        return true;
    if (n == 0 || errno != EAGAIN || s->final)
        end_stream(s);
    return false;
}

// Without credit only an empty pipe that nobody fills can be told from a full one.
static void rest(struct stream *s)
{
    int held = 0;
    event_del(s->readable);
    if (s->final && ioctl(s->fd, FIONREAD, &held) == 0 && held == 0)
        end_stream(s);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct stream *s = arg;
    if (read_piece(s) && s->credit == 0)
        rest(s);
}

static int open_stream(struct rank_io *io, struct stream *s, uint32_t number,
                       struct event_base *base, uint64_t credit, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        err_set_errno(err, errno, "pipe for the output of a rank");
        return -1;
    }
    proc_set_nonblock(ends[0]);
    *s = (struct stream){.io = io, .number = number, .fd = ends[0], .credit = credit};
    s->readable = event_new(base, s->fd, EV_READ | EV_PERSIST, on_readable, s);
    io->child[number] = (struct proc_fd){.from = ends[1], .to = (int)number};
    return 0;
}

static void close_stream(struct stream *s)
{
    if (s->fd < 0)
        return;
    event_free(s->readable);
    close(s->fd);
}

static void close_child_ends(struct rank_io *io)
{
    for (int i = 0; i < RANK_IO_STREAMS; i++) {
        mem_cleanup_close(&io->child[i].from);
        io->child[i].from = -1;
    }
}

static int open_input(struct rank_io *io, struct event_base *base,
                      rank_in_taken_fn taken, struct err *err)
{
    int *end = &io->child[RANK_IO_STDIN].from;
    if (taken != NULL) {
        io->in = rank_in_create(base, end, taken, io->arg, err);
        return io->in != NULL ? 0 : -1;
    }
    *end = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (*end < 0)
        err_set_errno(err, errno, "/dev/null for the input of a rank");
    return *end < 0 ? -1 : 0;
}

struct rank_io *rank_io_create(struct event_base *base, uint64_t credit,
                               rank_io_output_fn output, rank_in_taken_fn taken,
                               void *arg, struct err *err)
{
    struct rank_io *io = xcalloc(1, sizeof *io);
    io->output = output;
    io->arg = arg;
    io->out.fd = io->err.fd = -1;
    for (int i = 0; i < RANK_IO_STREAMS; i++)
        io->child[i] = (struct proc_fd){.from = -1, .to = i};
    if (open_input(io, base, taken, err) == 0 &&
        open_stream(io, &io->out, RANK_IO_STDOUT, base, credit, err) == 0 &&
        open_stream(io, &io->err, RANK_IO_STDERR, base, credit, err) == 0)
        return io;
    rank_io_destroy(io);
    return NULL;
}

void rank_io_destroy(struct rank_io *io)
{
    if (io == NULL)
        return;
    int saved = errno;
    close_stream(&io->out);
    close_stream(&io->err);
    rank_in_destroy(io->in);
    close_child_ends(io);
    free(io);
    errno = saved;
}

const struct proc_fd *rank_io_child_fds(const struct rank_io *io)
{
    return io->child;
}

static void resume(struct stream *s)
{
    if (s->fd >= 0 && s->credit > 0)
        event_add(s->readable, NULL);
}

void rank_io_started(struct rank_io *io)
{
    close_child_ends(io);
    resume(&io->out);
    resume(&io->err);
}

static void finish(struct stream *s)
{
    if (s->fd < 0)
        return;
    s->final = true;
    while (s->credit > 0 && read_piece(s))
        continue;
    if (s->fd >= 0 && s->credit == 0)
        rest(s);
}

void rank_io_input(struct rank_io *io, const void *data, size_t n, bool eof)
{
    if (io->in != NULL)
        rank_in_put(io->in, data, n, eof);
}

void rank_io_credit(struct rank_io *io, uint32_t stream, uint64_t bytes)
{
    struct stream *s = stream == RANK_IO_STDOUT   ? &io->out
                       : stream == RANK_IO_STDERR ? &io->err
                                                  : NULL;
    if (s == NULL)
        return;
    s->credit += bytes;
    resume(s);
    if (s->final)
        finish(s);
}

void rank_io_finish(struct rank_io *io)
{
    finish(&io->out);
    finish(&io->err);
}

bool rank_io_ended(const struct rank_io *io)
{
    return io->out.fd < 0 && io->err.fd < 0;
}
