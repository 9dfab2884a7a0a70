// Non-blocking writes to a terminal, pipe or socket that others use, too.
#include "launcher/sink.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/std.h"

enum { PIECE = 4096 }; // a pipe that polls writable takes this much without blocking

enum sink_kind {
    SINK_NONBLOCKING, // a terminal or pipe, opened anew: O_NONBLOCK for us alone
    SINK_SOCKET,      // MSG_DONTWAIT
    SINK_POLLED,      // could not be opened anew: pieces, when it polls writable
};

// A piece in the queue: so many bytes are still to be written, then the credit is due.
struct owed {
    size_t left;
    struct sink_credit credit;
};

struct sink {
    enum sink_kind kind;
    int fd; // owned when it is not the user's
    bool own_fd, broken;
    const struct sink_ops *ops;
    void *arg;
    struct event *writable;
    struct buf queue;
    struct buf owed; // struct owed[]
    uint64_t passed; // bytes, so far
};

static void pay(struct sink *s, size_t n)
{
    while (n > 0 && buf_len(&s->owed) > 0) {
        struct owed *first = (struct owed *)(void *)buf_data(&s->owed);
        size_t part = first->left < n ? first->left : n;
        first->left -= part;
        n -= part;
        if (first->left > 0)
            return;
        struct sink_credit credit = first->credit;
        buf_take(&s->owed, sizeof *first);
        if (credit.bytes > 0)
            s->ops->paid(s->arg, credit.rank, credit.stream, credit.bytes);
    }
}

void sink_forget(struct sink *s)
{
    struct owed *owed = (struct owed *)(void *)buf_data(&s->owed);
    for (size_t i = 0; i < buf_len(&s->owed) / sizeof *owed; i++)
        owed[i].credit.bytes = 0;
}

static ssize_t write_now(struct sink *s, size_t n)
{
    if (s->broken)
        return (ssize_t)n;
    if (s->kind == SINK_SOCKET)
        return send(s->fd, buf_data(&s->queue), n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (s->kind == SINK_POLLED) {
        struct pollfd p = {.fd = s->fd, .events = POLLOUT};
        n = n < PIECE ? n : PIECE;
        if (poll(&p, 1, 0) <= 0) {
            errno = EAGAIN;
            return -1;
        }
    }
    return write(s->fd, buf_data(&s->queue), n);
}

static bool write_once(struct sink *s)
{
    size_t want = buf_len(&s->queue);
    ssize_t n = write_now(s, want);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < 0) {
        s->broken = true;
        s->ops->broken(s->arg, errno);
        n = (ssize_t)want;
    }
    s->passed += (uint64_t)n;
    buf_take(&s->queue, (size_t)n);
    pay(s, (size_t)n);
    return true;
}

void sink_flush(struct sink *s)
{
    bool was = buf_len(&s->queue) > 0;
    while (buf_len(&s->queue) > 0 && write_once(s))
        ;
    if (buf_len(&s->queue) > 0)
        event_add(s->writable, NULL);
    else if (was)
        s->ops->idle(s->arg);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    sink_flush(arg);
}

void sink_put(struct sink *s, const void *p, size_t n, const struct sink_credit *credit)
{
    struct owed owed = {.left = n, .credit = *credit};
    if (n == 0)
        return;
    buf_append(&s->queue, p, n);
    buf_append(&s->owed, &owed, sizeof owed);
}

uint64_t sink_passed(const struct sink *s)
{
    return s->passed;
}

bool sink_is_idle(const struct sink *s)
{
    return buf_len(&s->queue) == 0;
}

struct sink *sink_create(struct event_base *base, int fd, const struct sink_ops *ops,
                         void *arg)
{
    struct stat st = {0};
    struct sink *s = xcalloc(1, sizeof *s);
    int anew;
    s->ops = ops;
    s->arg = arg;
    s->fd = fd;
    s->kind = SINK_POLLED;
    if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode)) {
        s->kind = SINK_SOCKET;
    } else if ((anew = std_reopen_nonblock(fd)) >= 0) {
        s->kind = SINK_NONBLOCKING;
        s->fd = anew;
        s->own_fd = true;
    }
    s->writable = event_new(base, s->fd, EV_WRITE, on_writable, s);
    return s;
}

void sink_destroy(struct sink *s)
{
    if (s == NULL)
        return;
    event_free(s->writable);
    if (s->own_fd)
        close(s->fd);
    buf_free(&s->queue);
    buf_free(&s->owed);
    free(s);
}
