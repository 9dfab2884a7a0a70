// Reading without blocking, cutting at newlines.
#include "common/child_output.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/proc.h"

struct child_output {
    int fd; // -1: nothing more comes
    struct event *readable;
    struct log *log;
    enum log_level level;
    const char *name;
    struct buf line; // not whole yet
    size_t all;      // bytes so far
};

static void put_line(struct child_output *o, size_t len)
{
    log_at(o->log, o->level, "%s: %.*s", o->name, (int)len,
           (const char *)buf_data(&o->line));
}

static void put_lines(struct child_output *o)
{
    while (buf_len(&o->line) > 0) {
        const char *text = (const char *)buf_data(&o->line), *end;
        end = memchr(text, '\n', buf_len(&o->line));
        size_t len = end != NULL ? (size_t)(end - text) : buf_len(&o->line);
        bool whole = end != NULL && len <= CHILD_LINE_MAX;
        if (end == NULL && len < CHILD_LINE_MAX)
            return;
        len = whole ? len : CHILD_LINE_MAX;
        put_line(o, len);
        buf_take(&o->line, len + (whole ? 1 : 0));
    }
}

static void take(struct child_output *o, const char *bytes, size_t n)
{
    size_t room = o->all < CHILD_OUTPUT_MAX ? CHILD_OUTPUT_MAX - o->all : 0;
    buf_append(&o->line, bytes, n < room ? n : room);
    put_lines(o);
    if (room > 0 && n >= room)
        log_warn(o->log, "%s: it has printed %d KiB: more is not logged", o->name,
                 CHILD_OUTPUT_MAX >> 10);
    o->all += n;
}

static void close_pipe(struct child_output *o)
{
    event_free(o->readable);
    close(o->fd);
    o->fd = -1;
}

static void on_readable(int fd, short what, void *arg)
{
    struct child_output *o = arg;
    char bytes[4096];
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n > 0)
        take(o, bytes, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_pipe(o);
}

struct child_output *child_output_create(struct event_base *base, int fd,
                                         struct log *log, enum log_level level,
                                         const char *name)
{
    struct child_output *o = xcalloc(1, sizeof *o);
    *o = (struct child_output){.fd = fd, .log = log, .level = level, .name = name};
    proc_set_nonblock(fd);
    o->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, o);
    event_add(o->readable, NULL);
    return o;
}

void child_output_end(struct child_output *o)
{
    char bytes[4096];
    ssize_t n;
    if (o == NULL)
        return;
    while (o->fd >= 0 && o->all < CHILD_OUTPUT_MAX &&
           (n = read(o->fd, bytes, sizeof bytes)) > 0)
        take(o, bytes, (size_t)n);
    if (buf_len(&o->line) > 0)
        put_line(o, buf_len(&o->line));
    if (o->fd >= 0)
        close_pipe(o);
    buf_free(&o->line);
    free(o);
}
