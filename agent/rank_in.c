// The pipe into a rank.
#include "agent/rank_in.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/proc.h"

struct rank_in {
    int fd; // -1: closed
    struct event *writable;
    struct buf queue;
    bool eof;
    rank_in_taken_fn taken;
    void *arg;
};

static void close_pipe(struct rank_in *in)
{
    if (in->fd < 0)
        return;
    event_free(in->writable);
    close(in->fd);
    in->fd = -1;
}

static void take(struct rank_in *in, size_t n)
{
    buf_take(&in->queue, n);
    if (n > 0)
        in->taken(in->arg, (uint32_t)n);
}

static void write_some(struct rank_in *in)
{
    while (in->fd >= 0 && buf_len(&in->queue) > 0) {
        ssize_t n = write(in->fd, buf_data(&in->queue), buf_len(&in->queue));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            event_add(in->writable, NULL);
            return;
        }
        if (n < 0)
            close_pipe(in); // the rank does not read any more
        else
            take(in, (size_t)n);
    }
    if (in->fd < 0)
        take(in, buf_len(&in->queue));
    else if (in->eof)
        close_pipe(in);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    write_some(arg);
}

struct rank_in *rank_in_create(struct event_base *base, int *child_end,
                               rank_in_taken_fn taken, void *arg, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        err_set_errno(err, errno, "pipe for the input of a rank");
        return NULL;
    }
    proc_set_nonblock(ends[1]);
    struct rank_in *in = xcalloc(1, sizeof *in);
    in->fd = ends[1];
    in->taken = taken;
    in->arg = arg;
    in->writable = event_new(base, in->fd, EV_WRITE, on_writable, in);
    *child_end = ends[0];
    return in;
}

void rank_in_destroy(struct rank_in *in)
{
    if (in == NULL)
        return;
    close_pipe(in);
    buf_free(&in->queue);
    free(in);
}

void rank_in_put(struct rank_in *in, const void *data, size_t n, bool eof)
{
    buf_append(&in->queue, data, n);
    in->eof = in->eof || eof;
    write_some(in);
}
