// The rounds of a pair, as the dialler and the listener see them.
#include "kernels/check/net_pair.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "kernels/check/finding.h"
#include "kernels/check/net_io.h"
#include "kernels/check/pattern.h"

enum { PING_LEN = 64, WORDS = NET_PIECE / sizeof(uint64_t), REPORT_WORDS = 6 };

double net_got_mb_s(const struct net_got *got)
{
    return got->ns > 0 ? (double)got->bytes * 1e3 / (double)got->ns : 0;
}

static int get(const struct net_pair *p, uint64_t *words, size_t n, struct err *err)
{
    return net_get_words(p->fd, words, n, p->until_ms, err);
}

static int put(const struct net_pair *p, const uint64_t *words, size_t n,
               struct err *err)
{
    return net_put_words(p->fd, words, n, p->until_ms, err);
}

// ---- round trips ----

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

uint64_t net_median(uint64_t *numbers, size_t n)
{
    qsort(numbers, n, sizeof *numbers, by_size);
    return numbers[n / 2];
}

static int ping(struct net_pair *p, uint64_t *median_ns, struct err *err)
{
    uint64_t took[NET_PINGS];
    for (unsigned i = 0; i < NET_PINGS; i++) {
        uint64_t out[PING_LEN / 8], in[PING_LEN / 8];
        uint64_t begun = loop_now_ns();
        for (unsigned k = 0; k < PING_LEN / 8; k++)
            out[k] = pattern_word(p->seed, i * PING_LEN + k);
        if (net_write(p->fd, out, sizeof out, p->until_ms, err) < 0 ||
            net_read(p->fd, in, sizeof in, p->until_ms, err) < 0)
            return -1;
        took[i] = loop_now_ns() - begun;
        if (memcmp(out, in, sizeof out) != 0) {
            err_set_kind(err, "WRONG", FINDING_FAIL, "a ping came back changed");
            return -1;
        }
    }
    *median_ns = net_median(took, NET_PINGS);
    return put(p, median_ns, 1, err);
}

static int echo(struct net_pair *p, uint64_t *median_ns, struct err *err)
{
    char data[PING_LEN];
    for (unsigned i = 0; i < NET_PINGS; i++)
        if (net_read(p->fd, data, sizeof data, p->until_ms, err) < 0 ||
            net_write(p->fd, data, sizeof data, p->until_ms, err) < 0)
            return -1;
    return get(p, median_ns, 1, err);
}

static int round_trips(struct net_pair *p, struct err *err)
{
    uint64_t ns = 0;
    stages_set(p->stages, 0, "round %u: round trips", p->rounds + 1);
    if ((p->dials ? ping(p, &ns, err) : echo(p, &ns, err)) < 0)
        return -1;
    double us = (double)ns / 1e3;
    if (p->rounds == 0 || us < p->rtt_us)
        p->rtt_us = us;
    return 0;
}

// ---- bytes ----

static uint64_t seed_of(const struct net_pair *p, bool from_dialler)
{
    return p->seed + (uint64_t)2 * p->rounds + (from_dialler ? 1 : 0) + 1;
}

static int send_pattern(struct net_pair *p, struct err *err)
{
    CLEANUP_FREE uint64_t *piece = xmalloc(NET_PIECE);
    uint64_t seed = seed_of(p, p->dials), sent = 0;
    uint64_t end = loop_now_ms() + p->transfer_ms;
    while (sent < p->bytes && loop_now_ms() < end) {
        uint64_t len = NET_PIECE;
        for (size_t i = 0; i < WORDS; i++)
            piece[i] = htole64(pattern_word(seed, sent / 8 + i));
        if (put(p, &len, 1, err) < 0 ||
            net_write(p->fd, piece, NET_PIECE, p->until_ms, err) < 0)
            return -1;
        sent += len;
    }
    return put(p, &(uint64_t){0}, 1, err);
}

static void verify(const uint64_t *piece, uint64_t seed, struct net_got *got)
{
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t expected = pattern_word(seed, got->bytes / 8 + i);
        uint64_t word = le64toh(piece[i]);
        if (word == expected)
            continue;
        if (got->wrong++ == 0) {
            got->offset = got->bytes + i * 8;
            got->expected = expected;
            got->got = word;
        }
    }
}

static int receive_pattern(struct net_pair *p, struct net_got *got, struct err *err)
{
    CLEANUP_FREE uint64_t *piece = xmalloc(NET_PIECE);
    uint64_t seed = seed_of(p, !p->dials), len, begun = 0;
    *got = (struct net_got){0};
    for (;;) {
        if (get(p, &len, 1, err) < 0)
            return -1;
        begun = begun != 0 ? begun : loop_now_ns();
        if (len == 0)
            break;
        if (len != NET_PIECE) {
            err_set_kind(err, "WRONG", FINDING_FAIL,
                         "a length came changed: %llu instead of %d",
                         (unsigned long long)len, NET_PIECE);
            return -1;
        }
        if (net_read(p->fd, piece, NET_PIECE, p->until_ms, err) < 0)
            return -1;
        verify(piece, seed, got);
        got->bytes += len;
    }
    got->ns = loop_now_ns() - begun;
    return 0;
}

static int put_got(const struct net_pair *p, const struct net_got *g, struct err *err)
{
    uint64_t words[REPORT_WORDS] = {g->bytes,  g->ns,       g->wrong,
                                    g->offset, g->expected, g->got};
    return put(p, words, REPORT_WORDS, err);
}

static int get_got(const struct net_pair *p, struct net_got *g, struct err *err)
{
    uint64_t w[REPORT_WORDS];
    if (get(p, w, REPORT_WORDS, err) < 0)
        return -1;
    *g = (struct net_got){w[0], w[1], w[2], w[3], w[4], w[5]};
    return 0;
}

static void keep_best(struct net_got *best, const struct net_got *got)
{
    if (best->wrong != 0)
        return;
    if (got->wrong != 0 || net_got_mb_s(got) > net_got_mb_s(best))
        *best = *got;
}

static int transfer_out(struct net_pair *p, struct err *err)
{
    struct net_got got;
    stages_set(p->stages, 0, "round %u: bytes to the other end", p->rounds + 1);
    if (send_pattern(p, err) < 0 || get_got(p, &got, err) < 0)
        return -1;
    keep_best(&p->sent, &got);
    return 0;
}

static int transfer_in(struct net_pair *p, struct err *err)
{
    struct net_got got;
    stages_set(p->stages, 0, "round %u: bytes from the other end", p->rounds + 1);
    if (receive_pattern(p, &got, err) < 0 || put_got(p, &got, err) < 0)
        return -1;
    keep_best(&p->received, &got);
    return 0;
}

int net_pair_run(struct net_pair *p, struct err *err)
{
    int (*first)(struct net_pair *, struct err *) =
        p->dials ? transfer_out : transfer_in;
    int (*second)(struct net_pair *, struct err *) =
        p->dials ? transfer_in : transfer_out;
    for (p->rounds = 0; p->rounds < NET_ROUNDS; p->rounds++) {
        if (round_trips(p, err) < 0 || first(p, err) < 0 || second(p, err) < 0) {
            err_prefix(err, "round %u", p->rounds + 1);
            return -1;
        }
    }
    stages_set(p->stages, 0, "%s", "");
    return 0;
}
