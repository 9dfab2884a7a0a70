// Plain blocking reads and writes, in a process that does nothing else.
#include "launcher/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/mem.h"

enum {
    PIECE = 65536,
    LINE_MS = 100, // the rest of a line follows at once, where it follows
    STREAMS = 2,
    FRAME_MAX = 1 << 30,
    RANKS_MAX = 1 << 24,
};

void writer_frame(struct buf *out, uint32_t rank, unsigned stream, int fresh,
                  const void *p, size_t n)
{
    struct writer_head head = {
        .rank = rank, .stream = stream, .fresh = fresh != 0, .len = (uint32_t)n};
    buf_append(out, &head, sizeof head);
    buf_append(out, p, n);
}

char *writer_path(const char *dir, uint32_t rank, unsigned stream)
{
    return xasprintf("%s/rank.%u.%s", dir, rank, stream == 1 ? "out" : "err");
}

// 0 at the end.
static size_t read_some(int fd, void *p, size_t n)
{
    ssize_t got;
    do
        got = read(fd, p, n);
    while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

static void tell(int status, uint32_t rank, uint32_t stream, int errnum)
{
    struct writer_failure f = {.rank = rank, .stream = stream, .errnum = errnum};
    ssize_t n = write(status, &f, sizeof f); // whole, or the launcher is gone
    (void)n;
}

// Whole lines, so that nobody who appends to the same file gets into one; all of it where a
// line is longer, or its end stays away.
static size_t whole_lines(int in, const uint8_t *p, size_t n)
{
    struct pollfd more = {.fd = in, .events = POLLIN};
    const uint8_t *last = memrchr(p, '\n', n);
    if (last != NULL)
        return (size_t)(last - p) + 1;
    return n == PIECE || poll(&more, 1, LINE_MS) == 0 ? n : 0;
}

// The file of writer_copy().
struct copy {
    int file, status;
    bool log;
    bool told;    // that it takes no more
    bool in_line; // half a line is its last
};

static void write_lines(struct copy *c, const uint8_t *p, size_t n)
{
    if (c->told && !c->log)
        return;
    if (c->in_line && fd_write(c->file, "\n", 1) == 0)
        c->in_line = false;
    off_t at = lseek(c->file, 0, SEEK_CUR);
    if (!c->in_line && fd_write(c->file, p, n) == 0)
        return;
    if (!c->told)
        tell(c->status, 0, 0, errno);
    c->in_line = c->in_line || lseek(c->file, 0, SEEK_CUR) != at;
    c->told = true;
}

void writer_copy(int in, int file, int status, bool log)
{
    CLEANUP_FREE uint8_t *piece = xmalloc(PIECE);
    struct copy c = {.file = file, .status = status, .log = log};
    size_t have = 0;
    for (size_t n = 1; n > 0;) {
        size_t ready = have > 0 ? whole_lines(in, piece, have) : 0;
        if (ready == 0) {
            n = read_some(in, piece + have, PIECE - have);
            have += n;
            ready = n == 0 ? have : 0;
        }
        if (ready > 0)
            write_lines(&c, piece, ready);
        have -= ready;
        memmove(piece, piece + ready, have);
    }
}

// ---- the files of a directory ----------------------------------------------------
// Opened for each frame: thousands of ranks would need more descriptors than there are.

struct split {
    const char *dir;
    int status;
    bool *broken; // [rank * STREAMS + (stream - 1)]
    size_t n;
};

static bool *broken_of(struct split *s, const struct writer_head *h)
{
    size_t i = (size_t)h->rank * STREAMS + h->stream - 1;
    if (i >= s->n) {
        s->broken = xrealloc(s->broken, i * 2 + 1, sizeof *s->broken);
        while (s->n < i * 2 + 1)
            s->broken[s->n++] = false;
    }
    return &s->broken[i];
}

static int append(const char *path, bool fresh, const struct buf *data)
{
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (fresh ? O_TRUNC : 0);
    CLEANUP_CLOSE int fd = open(path, flags, 0666);
    return fd < 0 ? -1 : fd_write(fd, buf_data(data), buf_len(data));
}

static void take_frame(struct split *s, const struct writer_head *h,
                       const struct buf *data)
{
    CLEANUP_FREE char *path = writer_path(s->dir, h->rank, h->stream);
    bool *broken = broken_of(s, h);
    if (*broken || append(path, h->fresh, data) == 0)
        return;
    tell(s->status, h->rank, h->stream, errno);
    *broken = true;
}

// false at the end, also when that comes too early.
static bool read_whole(int in, size_t n, struct buf *out)
{
    buf_clear(out);
    while (buf_len(out) < n) {
        size_t want = n - buf_len(out);
        size_t got = read_some(in, buf_reserve(out, want), want);
        if (got == 0)
            return false;
        buf_commit(out, got);
    }
    return true;
}

int writer_split(int in, const char *dir, int status)
{
    struct split s = {.dir = dir, .status = status};
    struct writer_head head = {0};
    BUF_AUTO data = BUF_INIT;
    int rc = 0;
    while (rc == 0 && read_whole(in, sizeof head, &data)) {
        head = *(const struct writer_head *)(const void *)buf_data(&data);
        if (head.rank >= RANKS_MAX || head.len > FRAME_MAX || head.stream < 1 ||
            head.stream > STREAMS || !read_whole(in, head.len, &data))
            rc = -1;
        else
            take_frame(&s, &head, &data);
    }
    free(s.broken);
    return rc;
}

int writer_main(int argc, char **argv)
{
    static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                  SIGPIPE, SIGTSTP, SIGXFSZ};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    bool log = argc > 1 && argv[1][0] == '\0';
    if (argc > 1 && !log)
        return writer_split(WRITER_IN, argv[1], WRITER_STATUS) == 0 ? 0 : 1;
    writer_copy(WRITER_IN, WRITER_FILE, WRITER_STATUS, log);
    return 0;
}
