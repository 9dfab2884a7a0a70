// Whole lines of many ranks to where the user wants them.
#include "launcher/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/mem.h"
#include "launcher/lines.h"
#include "launcher/sink.h"
#include "launcher/writer.h"

enum { OUT, ERR, DIR, PLACES };
// Of unfinished lines: what each stream may keep anyway, and more while all together have
// less than the second.
enum { HELD_EACH_MAX = 64 << 10, HELD_ALL_MAX = 128 << 20 };

struct stream {
    struct lines lines;
    bool eof;
};

struct output {
    struct output_style style;
    const struct output_ops *ops;
    void *arg;
    struct stream *streams; // [rank * 2 + (stream - 1)]
    uint32_t ranks, open;
    bool *made;   // as streams, and of all that there ever were: its file was made
    size_t nmade; // entries
    size_t held;  // bytes of unfinished lines, of all streams
    bool joined;  // stdout and stderr are one file: all goes through the first sink
    struct sink *sinks[PLACES]; // DIR: NULL without style.dir
    bool file[PLACES];
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

static void on_dir_broken(void *arg, int errnum)
{
    struct output *o = arg;
    o->ops->broken(o->arg, o->style.dir, errnum);
}

static const struct sink_ops out_ops = {on_paid, on_idle, on_out_broken};
static const struct sink_ops err_ops = {on_paid, on_idle, on_err_broken};
static const struct sink_ops dir_ops = {on_paid, on_idle, on_dir_broken};

static bool same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

struct output *output_create(struct event_base *base, const struct output_places *to,
                             uint32_t ranks, const struct output_style *style,
                             const struct output_ops *ops, void *arg)
{
    struct output *o = xcalloc(1, sizeof *o);
    o->style = *style;
    o->ops = ops;
    o->arg = arg;
    output_add(o, ranks);
    o->sinks[OUT] = sink_create(base, to->out, &out_ops, o);
    o->sinks[ERR] = sink_create(base, to->err, &err_ops, o);
    if (style->dir != NULL)
        o->sinks[DIR] = sink_create(base, to->dir, &dir_ops, o);
    o->file[OUT] = to->out_is_file;
    o->file[ERR] = to->err_is_file;
    o->file[DIR] = true;
    o->joined = same_file(to->out, to->err);
    return o;
}

void output_add(struct output *o, uint32_t ranks)
{
    size_t before = (size_t)o->ranks * 2, more = (size_t)ranks * 2;
    o->streams = xrealloc(o->streams, before + more, sizeof *o->streams);
    memset(o->streams + before, 0, more * sizeof *o->streams);
    if (before + more > o->nmade) {
        o->made = xrealloc(o->made, before + more, sizeof *o->made);
        memset(o->made + o->nmade, 0, before + more - o->nmade);
        o->nmade = before + more;
    }
    o->ranks += ranks;
    o->open += (uint32_t)more;
}

bool output_is_ended(const struct output *o)
{
    return o->open == 0;
}

static void forget_debts(struct output *o)
{
    for (int i = 0; i < PLACES; i++)
        if (o->sinks[i] != NULL)
            sink_forget(o->sinks[i]);
}

static void free_streams(struct output *o)
{
    for (size_t i = 0; i < (size_t)o->ranks * 2; i++)
        lines_free(&o->streams[i].lines);
    free(STEAL(o->streams));
    o->ranks = 0;
    o->open = 0;
    o->held = 0;
}

void output_again(struct output *o, uint32_t ranks)
{
    forget_debts(o);
    for (uint32_t r = 0; r < o->ranks; r++) {
        output_eof(o, r, 1);
        output_eof(o, r, 2);
    }
    free_streams(o);
    output_add(o, ranks);
}

void output_destroy(struct output *o)
{
    if (o == NULL)
        return;
    free_streams(o);
    for (int i = 0; i < PLACES; i++)
        sink_destroy(o->sinks[i]);
    free(o->made);
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
    const char *role = o->style.role;
    if (o->style.tag)
        snprintf(text + n, size - n, "[%s%s%u]<%s>: ", role != NULL ? role : "",
                 role != NULL ? "." : "", rank, stream_name(stream));
}

// Where output goes: a frame for a file a rank, or bytes among those of others. Both return
// whether anything was put, which `owed` is paid with.

static bool to_file(struct output *o, uint32_t rank, unsigned stream,
                    const struct buf *b, const struct sink_credit *owed)
{
    unsigned target = target_of(o, stream);
    bool *made = &o->made[rank * 2 + target - 1];
    BUF_AUTO frame = BUF_INIT;
    if (*made && buf_len(b) == 0)
        return false;
    writer_frame(&frame, rank, target, !*made && !o->style.go_on, buf_data(b),
                 buf_len(b));
    sink_put(o->sinks[DIR], buf_data(&frame), buf_len(&frame), owed);
    *made = true;
    return true;
}

// Another stream's line begins its own line, whatever the one before ended with.
static bool to_sink(struct output *o, unsigned k, const struct buf *whole,
                    const struct sink_credit *owed)
{
    static const struct sink_credit none;
    if (buf_len(whole) == 0)
        return false;
    if (o->unfinished[k])
        sink_put(o->sinks[k], "\n", 1, &none);
    o->unfinished[k] = false;
    sink_put(o->sinks[k], buf_data(whole), buf_len(whole), owed);
    return true;
}

// `credit` is due when this is written; bytes that wait for the end of their line are paid
// at once. Returns whether anything was put.
static bool pass_on(struct output *o, uint32_t rank, unsigned stream, struct buf *whole,
                    size_t credit)
{
    struct sink_credit owed = {.rank = rank, .stream = stream, .bytes = credit};
    bool dir = o->style.dir != NULL;
    unsigned k = o->joined ? OUT : target_of(o, stream) - 1;
    bool put =
        dir ? to_file(o, rank, stream, whole, &owed) : to_sink(o, k, whole, &owed);
    if (credit > 0 && !put)
        o->ops->credit(o->arg, rank, stream, credit);
    sink_flush(o->sinks[dir ? DIR : k]);
    return put;
}

static struct stream *stream_of(const struct output *o, uint32_t rank, unsigned stream)
{
    if (rank >= o->ranks || stream < 1 || stream > 2)
        return NULL;
    return &o->streams[rank * 2 + stream - 1];
}

// Progress bars draw one line for days, and many ranks may do so: a line is cut rather than
// that the launcher grows with all of them.
static void take(struct output *o, struct stream *st, const char *prefix, const void *p,
                 size_t n, struct buf *whole)
{
    const struct buf *line = &st->lines.held;
    o->held -= buf_len(line);
    lines_feed(&st->lines, prefix, p, n, whole);
    if (buf_len(line) > HELD_EACH_MAX && o->held + buf_len(line) > HELD_ALL_MAX)
        lines_end(&st->lines, prefix, whole);
    o->held += buf_len(line);
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
    take(o, st, prefix, p, n, &whole);
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
    o->held -= buf_len(&st->lines.held);
    lines_end(&st->lines, prefix, &whole);
    bool put = pass_on(o, rank, stream, &whole, 0);
    if (put && o->style.dir == NULL)
        o->unfinished[o->joined ? OUT : target_of(o, stream) - 1] = true;
    if (!put && output_is_drained(o))
        o->ops->drained(o->arg);
}

static bool waits(const struct output *o, int place)
{
    return o->sinks[place] != NULL && !sink_is_idle(o->sinks[place]);
}

bool output_waits(const struct output *o)
{
    return (waits(o, OUT) && !o->file[OUT]) || (waits(o, ERR) && !o->file[ERR]);
}

const char *output_waits_for_file(const struct output *o)
{
    const char *const names[PLACES] = {"stdout", "stderr", o->style.dir};
    for (int i = 0; i < PLACES; i++)
        if (waits(o, i) && o->file[i])
            return names[i];
    return NULL;
}

uint64_t output_passed(const struct output *o)
{
    uint64_t n = 0;
    for (int i = 0; i < PLACES; i++)
        n += o->sinks[i] != NULL ? sink_passed(o->sinks[i]) : 0;
    return n;
}

bool output_is_drained(const struct output *o)
{
    return o->open == 0 && !waits(o, OUT) && !waits(o, ERR) && !waits(o, DIR);
}

bool output_wants_newline(struct output *o)
{
    unsigned k = o->joined ? OUT : ERR;
    bool due = o->unfinished[k] && sink_is_idle(o->sinks[k]);
    o->unfinished[k] = o->unfinished[k] && !due;
    return due;
}

void output_last_words(const struct output *o, uint32_t rank, unsigned max,
                       const char *indent, struct buf *out)
{
    const struct stream *st = stream_of(o, rank, 2);
    if (st != NULL)
        lines_tail(&st->lines, max, indent, out);
}
