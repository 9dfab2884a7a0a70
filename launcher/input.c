// Reads stdin as far as the ranks take it.
#include "launcher/input.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "wire/frame.h"

enum { BEHIND_MS = 500 };

struct input {
    int fd;
    bool file;  // a regular file: always readable, and nothing for epoll
    bool ended; // EOF was sent
    uint32_t who, ranks;
    uint64_t sent;
    uint64_t *taken; // by each rank
    bool *gone;
    struct event *readable, *again;
    input_send_fn send;
    void *arg;
};

static bool listens(const struct input *in, uint32_t rank)
{
    return !in->gone[rank] && (in->who == INPUT_ALL || in->who == rank + 1);
}

// Bytes that may be sent now; 0 also when nobody takes any.
static size_t window(const struct input *in)
{
    uint64_t ahead = 0;
    bool somebody = false;
    for (uint32_t r = 0; r < in->ranks; r++) {
        if (!listens(in, r))
            continue;
        somebody = true;
        ahead = in->sent - in->taken[r] > ahead ? in->sent - in->taken[r] : ahead;
    }
    return somebody && ahead < INPUT_WINDOW ? (size_t)(INPUT_WINDOW - ahead) : 0;
}

static void watch(struct input *in)
{
    if (in->ended || window(in) == 0)
        return;
    if (in->file)
        loop_timer_arm(in->again, 0);
    else
        event_add(in->readable, NULL);
}

static void finish(struct input *in)
{
    in->ended = true;
    in->send(in->arg, NULL, 0, true);
}

static void read_some(struct input *in)
{
    static const size_t max = FRAME_BULK_MAX;
    uint8_t piece[FRAME_BULK_MAX];
    size_t want = window(in) < max ? window(in) : max;
    // Another reader of the same stdin may have been faster: never block.
    struct pollfd p = {.fd = in->fd, .events = POLLIN};
    if (in->ended || want == 0 || poll(&p, 1, 0) <= 0) {
        watch(in);
        return;
    }
    ssize_t n = read(in->fd, piece, want);
    if (n > 0) {
        in->sent += (uint64_t)n;
        in->send(in->arg, piece, (size_t)n, false);
        watch(in);
    } else if (n < 0 && errno == EIO) { // a terminal that is not ours now
        loop_timer_arm(in->again, BEHIND_MS);
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        watch(in);
    } else {
        finish(in);
    }
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    read_some(arg);
}

struct input *input_create(struct event_base *base, int fd, uint32_t who,
                           uint32_t ranks, input_send_fn send, void *arg)
{
    struct stat st;
    struct input *in = xcalloc(1, sizeof *in);
    in->fd = fd;
    in->who = who;
    in->ranks = ranks;
    in->send = send;
    in->arg = arg;
    in->taken = xcalloc(ranks, sizeof *in->taken);
    in->gone = xcalloc(ranks, sizeof *in->gone);
    in->file = fstat(fd, &st) == 0 && !S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) &&
               isatty(fd) == 0;
    in->readable = event_new(base, fd, EV_READ, on_readable, in);
    in->again = loop_timer(base, on_readable, in);
    watch(in);
    return in;
}

void input_destroy(struct input *in)
{
    if (in == NULL)
        return;
    event_free(in->readable);
    loop_timer_free(in->again);
    free(in->taken);
    free(in->gone);
    free(in);
}

void input_taken(struct input *in, uint32_t rank, uint32_t bytes)
{
    if (rank >= in->ranks)
        return;
    in->taken[rank] += bytes;
    watch(in);
}

void input_rank_gone(struct input *in, uint32_t rank)
{
    if (rank >= in->ranks)
        return;
    in->gone[rank] = true;
    watch(in);
}
