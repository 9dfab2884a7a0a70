// Whole lines of many ranks to where the user wants them.
#include "launcher/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "launcher/lines.h"
#include "launcher/sink.h"

struct stream {
    struct lines lines;
    bool eof;
    bool made;   // its file was made
    bool broken; // its file cannot be written
};

struct output {
    struct output_style style;
    const struct output_ops *ops;
    void *arg;
    struct stream *streams; // [rank * 2 + (stream - 1)]
    uint32_t ranks, open;
    bool joined; // stdout and stderr are one file: all goes through the first sink
    struct sink *sinks[2];
    bool unfinished[2]; // what went there last was a stream's end without a newline
};

static void on_paid(void *arg, uint32_t rank, unsigned stream, size_t bytes)
{
    struct output *o = arg;
    o->ops->credit(o->arg, rank, stream, bytes);
}

static void on_idle(void *arg)
{
    struct output *o = arg;
    if (output_is_drained(o))
        o->ops->drained(o->arg);
}

static void on_out_broken(void *arg, int errnum)
{
    struct output *o = arg;
    o->ops->broken(o->arg, "stdout", errnum);
}

static void on_err_broken(void *arg, int errnum)
{
    struct output *o = arg;
    o->ops->broken(o->arg, "stderr", errnum);
}

static const struct sink_ops out_ops = {on_paid, on_idle, on_out_broken};
static const struct sink_ops err_ops = {on_paid, on_idle, on_err_broken};

int output_make_dir(const struct output_style *style, struct err *err)
{
    const char *dir = style->dir;
    struct stat st;
    if (dir == NULL || mkdir(dir, 0777) == 0)
        return 0;
    if (errno == EEXIST && stat(dir, &st) == 0 && !S_ISDIR(st.st_mode))
        errno = ENOTDIR;
    if (errno == EEXIST && access(dir, W_OK | X_OK) == 0)
        return 0;
    err_set_errno(err, errno, "--output %s: cannot write there", dir);
    return -1;
}

static bool same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

struct output *output_create(struct event_base *base, int out_fd, int err_fd,
                             uint32_t ranks, const struct output_style *style,
                             const struct output_ops *ops, void *arg)
{
    struct output *o = xcalloc(1, sizeof *o);
    o->style = *style;
    o->ops = ops;
    o->arg = arg;
    o->ranks = ranks;
    o->open = ranks * 2;
    o->streams = xcalloc((size_t)ranks * 2, sizeof *o->streams);
    o->sinks[0] = sink_create(base, out_fd, &out_ops, o);
    o->sinks[1] = sink_create(base, err_fd, &err_ops, o);
    o->joined = same_file(out_fd, err_fd);
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
        lines_free(&o->streams[i].lines);
    sink_destroy(o->sinks[0]);
    sink_destroy(o->sinks[1]);
    free(o->streams);
    free(o);
}

// Where a stream goes: 1 or 2.
static unsigned target_of(const struct output *o, unsigned stream)
{
    return o->style.merge ? 1 : stream;
}

static const char *stream_name(unsigned stream)
{
    return stream == 1 ? "stdout" : "stderr";
}

static void make_prefix(const struct output *o, uint32_t rank, unsigned stream,
                        char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    if (o->style.timestamp) {
        struct timespec ts;
        struct tm tm;
        char day[32];
        clock_gettime(CLOCK_REALTIME, &ts);
        gmtime_r(&ts.tv_sec, &tm);
        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
        n = (size_t)snprintf(text, size, "%s.%03ldZ ", day, ts.tv_nsec / 1000000);
    }
    if (o->style.tag)
        snprintf(text + n, size - n, "[%u]<%s>: ", rank, stream_name(stream));
}

// ---- a file a rank -------------------------------------------------------------
// Opened for each write: thousands of ranks would need more descriptors than there are.

static int append_file(const char *path, bool truncate, const struct buf *b)
{
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (truncate ? O_TRUNC : 0);
    CLEANUP_CLOSE int fd = open(path, flags, 0666);
    for (size_t done = 0; fd >= 0 && done < buf_len(b);) {
        ssize_t n = write(fd, buf_data(b) + done, buf_len(b) - done);
        if (n < 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return fd < 0 ? -1 : 0;
}

static void to_file(struct output *o, uint32_t rank, unsigned stream,
                    const struct buf *b)
{
    unsigned target = target_of(o, stream);
    struct stream *st = &o->streams[rank * 2 + target - 1];
    if (st->broken || (st->made && buf_len(b) == 0))
        return;
    CLEANUP_FREE char *path =
        xasprintf("%s/rank.%u.%s", o->style.dir, rank, target == 1 ? "out" : "err");
    if (append_file(path, !st->made, b) < 0) {
        st->broken = true;
        o->ops->broken(o->arg, path, errno);
    }
    st->made = true;
}

// ---- streams -------------------------------------------------------------------

// Another stream's line begins its own line, whatever the one before ended with.
static void to_sink(struct output *o, unsigned k, const struct buf *whole,
                    const struct sink_credit *owed)
{
    static const struct sink_credit none;
    if (buf_len(whole) == 0)
        return;
    if (o->unfinished[k])
        sink_put(o->sinks[k], "\n", 1, &none);
    o->unfinished[k] = false;
    sink_put(o->sinks[k], buf_data(whole), buf_len(whole), owed);
}

// `credit` is due when this is written; bytes that wait for the end of their line are paid
// at once.
static void pass_on(struct output *o, uint32_t rank, unsigned stream, struct buf *whole,
                    size_t credit)
{
    struct sink_credit owed = {.rank = rank, .stream = stream, .bytes = credit};
    unsigned k = o->joined ? 0 : target_of(o, stream) - 1;
    struct sink *s = o->sinks[k];
    if (o->style.dir != NULL)
        to_file(o, rank, stream, whole);
    else
        to_sink(o, k, whole, &owed);
    if (credit > 0 && (o->style.dir != NULL || buf_len(whole) == 0))
        o->ops->credit(o->arg, rank, stream, credit);
    sink_flush(s);
}

static struct stream *stream_of(const struct output *o, uint32_t rank, unsigned stream)
{
    if (rank >= o->ranks || stream < 1 || stream > 2)
        return NULL;
    return &o->streams[rank * 2 + stream - 1];
}

void output_data(struct output *o, uint32_t rank, unsigned stream, const void *p,
                 size_t n)
{
    struct stream *st = stream_of(o, rank, stream);
    char prefix[96];
    BUF_AUTO whole = BUF_INIT;
    if (st == NULL || n == 0)
        return;
    make_prefix(o, rank, stream, prefix, sizeof prefix);
    lines_feed(&st->lines, prefix, p, n, &whole);
    pass_on(o, rank, stream, &whole, n);
}

void output_eof(struct output *o, uint32_t rank, unsigned stream)
{
    struct stream *st = stream_of(o, rank, stream);
    char prefix[96];
    BUF_AUTO whole = BUF_INIT;
    if (st == NULL || st->eof)
        return;
    st->eof = true;
    o->open--;
    make_prefix(o, rank, stream, prefix, sizeof prefix);
    lines_end(&st->lines, prefix, &whole);
    bool waits = buf_len(&whole) > 0 && o->style.dir == NULL;
    pass_on(o, rank, stream, &whole, 0);
    if (waits)
        o->unfinished[o->joined ? 0 : target_of(o, stream) - 1] = true;
    if (!waits && output_is_drained(o))
        o->ops->drained(o->arg);
}

bool output_waits(const struct output *o)
{
    return !sink_is_idle(o->sinks[0]) || !sink_is_idle(o->sinks[1]);
}

bool output_is_drained(const struct output *o)
{
    return o->open == 0 && !output_waits(o);
}

void output_last_words(const struct output *o, uint32_t rank, unsigned max,
                       const char *indent, struct buf *out)
{
    const struct stream *st = stream_of(o, rank, 2);
    if (st != NULL)
        lines_tail(&st->lines, max, indent, out);
}
