// Filling buffers, collectives on them, and looking at each element.
#include "kernels/check/net_nccl.h"

#include <stdlib.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "kernels/check/finding.h"
#include "kernels/check/net_io.h"
#include "kernels/check/pattern.h"

enum { FIRST_WORDS = 8192, ID_WORDS = sizeof(struct nccl_id) / 8, REPORT_WORDS = 7 };

_Static_assert((int)ID_WORDS <= (int)NET_WORDS_MAX, "the id goes in one piece");

struct work {
    struct net_nccl *p;
    unsigned own, ranks, first; // GPUs here; of all; this end's first
    size_t words;               // of a buffer
    uint64_t *expected, *seen;  // words
    uint64_t round_ms;          // the last one took so long
};

// ---- the two ends -----------------------------------------------------------------

static int swap(const struct net_nccl *p, const uint64_t *out, uint64_t *in, size_t n,
                struct err *err)
{
    if (net_put_words(p->fd, out, n, p->until_ms, err) < 0)
        return -1;
    return net_get_words(p->fd, in, n, p->until_ms, err);
}

int net_nccl_offer(struct net_nccl *p, struct err *err)
{
    uint64_t own[] = {p->gpus != NULL ? net_gpus_count(p->gpus) : 0, p->only},
             others[2];
    if (swap(p, own, others, 2, err) < 0)
        return -1;
    if (others[0] > NET_GPUS_MAX) {
        err_set_kind(err, "WRONG", FINDING_FAIL, "a number came changed: %llu GPUs",
                     (unsigned long long)others[0]);
        return -1;
    }
    p->others = (unsigned)others[0];
    p->others_only = others[1] != 0;
    return 0;
}

static unsigned first_of(const struct net_nccl *p)
{
    return p->dials ? p->others : 0;
}

bool net_nccl_own(const struct net_nccl *p, unsigned rank, unsigned *gpu)
{
    unsigned first = first_of(p);
    *gpu = rank - first;
    return rank >= first && *gpu < net_gpus_count(p->gpus);
}

static int join(struct work *w, struct err *err)
{
    struct net_nccl *p = w->p;
    struct nccl_id id;
    uint64_t words[ID_WORDS];
    stages_set(p->stages, 0, "NCCL: %u GPUs here and %u there meet", w->own, p->others);
    if (p->dials) {
        if (net_get_words(p->fd, words, ID_WORDS, p->until_ms, err) < 0)
            return -1;
        memcpy(&id, words, sizeof id);
    } else {
        if (net_gpus_make_id(p->gpus, &id, err) < 0)
            return -1;
        memcpy(words, &id, sizeof id);
        if (net_put_words(p->fd, words, ID_WORDS, p->until_ms, err) < 0)
            return -1;
    }
    return net_gpus_join(p->gpus, &id, w->ranks, w->first, err);
}

// ---- elements ---------------------------------------------------------------------

// What one end sends the other one receives.
static bool comes_from_dialler(const struct work *w, enum net_nccl_kind kind)
{
    return (kind == NET_NCCL_SENT) == w->p->dials;
}

// The same at both ends.
static uint64_t seed_of(const struct work *w, enum net_nccl_kind kind)
{
    unsigned way = kind == NET_NCCL_SUM ? 2 : comes_from_dialler(w, kind);
    return w->p->seed + (uint64_t)NET_NCCL_KINDS * w->p->rounds + way + 1;
}

// The rank that a broadcast comes from.
static unsigned root_of(const struct work *w, enum net_nccl_kind kind)
{
    unsigned diallers = w->p->dials ? w->first : w->own;
    return comes_from_dialler(w, kind) ? diallers : 0;
}

// What rank has before; a buffer that is to be overwritten has nothing that would pass.
static uint64_t before(const struct work *w, enum net_nccl_kind kind, unsigned rank,
                       uint64_t word)
{
    if (kind == NET_NCCL_SUM)
        return word * (2 * (uint64_t)rank + 1);
    return rank == root_of(w, kind) ? word : ~word;
}

static int fill(struct work *w, enum net_nccl_kind kind, size_t n, struct err *err)
{
    uint64_t seed = seed_of(w, kind), ranks = w->ranks;
    uint64_t times = kind == NET_NCCL_SUM ? ranks * ranks : 1;
    for (size_t k = 0; k < n; k++)
        w->expected[k] = pattern_word(seed, k);
    for (unsigned i = 0; i < w->own; i++) {
        for (size_t k = 0; k < n; k++)
            w->seen[k] = before(w, kind, w->first + i, w->expected[k]);
        if (net_gpus_put(w->p->gpus, i, w->seen, n, err) < 0)
            return -1;
    }
    for (size_t k = 0; k < n; k++)
        w->expected[k] *= times;
    return 0;
}

static void look(const struct work *w, unsigned rank, size_t n, struct net_nccl_got *g)
{
    if (memcmp(w->expected, w->seen, n * sizeof *w->seen) == 0)
        return;
    for (size_t k = 0; k < n; k++) {
        if (w->seen[k] == w->expected[k] || g->got.wrong++ > 0)
            continue;
        g->rank = rank;
        g->got.offset = k * sizeof *w->seen;
        g->got.expected = w->expected[k];
        g->got.got = w->seen[k];
    }
}

static int verify(struct work *w, size_t n, struct net_nccl_got *g, struct err *err)
{
    for (unsigned i = 0; i < w->own; i++) {
        if (net_gpus_get(w->p->gpus, i, w->seen, n, err) < 0)
            return -1;
        look(w, w->first + i, n, g);
    }
    return 0;
}

// ---- a collective -----------------------------------------------------------------

static int report(struct work *w, struct net_nccl_got *g, struct err *err)
{
    const struct net_got *own = &g->got;
    uint64_t out[REPORT_WORDS] = {own->bytes,    own->ns,  own->wrong, own->offset,
                                  own->expected, own->got, g->rank};
    uint64_t in[REPORT_WORDS];
    if (swap(w->p, out, in, REPORT_WORDS, err) < 0)
        return -1;
    if (in[1] > g->got.ns)
        g->got.ns = in[1]; // it is over when it is over at both ends
    if (g->got.wrong == 0 && in[2] > 0)
        *g = (struct net_nccl_got){{in[0], g->got.ns, in[2], in[3], in[4], in[5]},
                                   (unsigned)in[6]};
    return 0;
}

static int once(struct work *w, enum net_nccl_kind kind, size_t n,
                struct net_nccl_got *g, struct err *err)
{
    struct net_gpus *gpus = w->p->gpus;
    uint64_t both[1] = {0};
    *g = (struct net_nccl_got){.got.bytes = n * sizeof(uint64_t)};
    if (fill(w, kind, n, err) < 0 || swap(w->p, both, both, 1, err) < 0)
        return -1;
    uint64_t begun = loop_now_ns();
    int rc = kind == NET_NCCL_SUM ? net_gpus_sum(gpus, n, err)
                                  : net_gpus_broadcast(gpus, n, root_of(w, kind), err);
    if (rc < 0)
        return -1;
    g->got.ns = loop_now_ns() - begun;
    if (verify(w, n, g, err) < 0)
        return -1;
    return report(w, g, err);
}

static int keep(struct work *w, enum net_nccl_kind kind, struct err *err)
{
    static const char *const what[] = {"bytes to the other end's GPUs",
                                       "bytes from the other end's GPUs", "a sum"};
    struct net_nccl_got g, *best = &w->p->best[kind];
    stages_set(w->p->stages, 0, "NCCL, round %u: %s", w->p->rounds + 1, what[kind]);
    if (once(w, kind, w->words, &g, err) < 0)
        return -1;
    bool better = net_got_mb_s(&g.got) > net_got_mb_s(&best->got);
    if (best->got.wrong == 0 && (g.got.wrong > 0 || better))
        *best = g;
    return 0;
}

// ---- round trips ------------------------------------------------------------------

// NET_PINGS sums of one word, one after the other: the first is that of all ranks' words, each
// further one `ranks` times the one before.
static int round_trips(struct work *w, struct err *err)
{
    struct net_nccl_got g = {.got.bytes = sizeof(uint64_t)};
    uint64_t took[NET_PINGS];
    stages_set(w->p->stages, 0, "NCCL, round %u: round trips", w->p->rounds + 1);
    if (fill(w, NET_NCCL_SUM, 1, err) < 0)
        return -1;
    for (unsigned i = 0; i < NET_PINGS; i++) {
        uint64_t begun = loop_now_ns();
        if (net_gpus_sum(w->p->gpus, 1, err) < 0)
            return -1;
        took[i] = loop_now_ns() - begun;
        w->expected[0] *= i > 0 ? w->ranks : 1;
    }
    g.got.ns = net_median(took, NET_PINGS);
    if (verify(w, 1, &g, err) < 0 || report(w, &g, err) < 0)
        return -1;
    double us = (double)g.got.ns / 1e3;
    if (w->p->rounds == 0 || us < w->p->rtt_us)
        w->p->rtt_us = us;
    if (g.got.wrong > 0 && w->p->best[NET_NCCL_SUM].got.wrong == 0)
        w->p->best[NET_NCCL_SUM] = g;
    return 0;
}

// ---- how much ---------------------------------------------------------------------

static int make_room(struct work *w, size_t words, struct err *err)
{
    w->words = words;
    w->expected = xrealloc(w->expected, words, sizeof *w->expected);
    w->seen = xrealloc(w->seen, words, sizeof *w->seen);
    return net_gpus_room(w->p->gpus, words, err);
}

static uint64_t left_ms(const struct net_nccl *p)
{
    uint64_t now = loop_now_ms();
    return now < p->until_ms ? p->until_ms - now : 0;
}

// Two first sums: in one NCCL connects, the other is timed. A transfer shall take no longer than it
// may, and all of them, with what is done around them, half of the time that is left.
static int choose_words(struct work *w, struct err *err)
{
    struct net_nccl *p = w->p;
    size_t most = p->bytes / sizeof(uint64_t);
    size_t n = most < FIRST_WORDS ? most : FIRST_WORDS;
    struct net_nccl_got g;
    uint64_t begun = 0;
    stages_set(p->stages, 0, "NCCL: a first sum");
    if (make_room(w, n, err) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        begun = loop_now_ns();
        if (once(w, NET_NCCL_SUM, n, &g, err) < 0)
            return -1;
        if (g.got.wrong > 0)
            p->best[NET_NCCL_SUM] = g;
    }
    double all_ns = (double)(loop_now_ns() - begun) * NET_ROUNDS * NET_NCCL_KINDS;
    double by_time = (double)left_ms(p) * 1e6 / 2 / all_ns;
    double by_transfer = (double)p->transfer_ms * 1e6 / (double)(g.got.ns + 1);
    double words = (double)n * (by_time < by_transfer ? by_time : by_transfer);
    uint64_t own = words < (double)most ? (uint64_t)words : most;
    if (own < n)
        own = n;
    uint64_t others = 0;
    if (swap(p, &own, &others, 1, err) < 0)
        return -1;
    if (others < own)
        own = others;
    return make_room(w, own > 0 ? own : 1, err);
}

// Both have time for one more.
static int goes_on(struct work *w, bool *on, struct err *err)
{
    uint64_t own = left_ms(w->p) > w->round_ms + w->round_ms / 2, others = 0;
    if (swap(w->p, &own, &others, 1, err) < 0)
        return -1;
    *on = own != 0 && others != 0;
    return 0;
}

static int rounds(struct work *w, struct err *err)
{
    struct net_nccl *p = w->p;
    for (p->rounds = 0; p->rounds < NET_ROUNDS; p->rounds++) {
        uint64_t begun = loop_now_ms();
        bool on = false;
        if (goes_on(w, &on, err) < 0)
            return -1;
        if (!on)
            break;
        // Both do the same at the same time: what the dialler sends comes first.
        enum net_nccl_kind first = p->dials ? NET_NCCL_SENT : NET_NCCL_RECEIVED;
        enum net_nccl_kind second = p->dials ? NET_NCCL_RECEIVED : NET_NCCL_SENT;
        if (round_trips(w, err) < 0 || keep(w, first, err) < 0 ||
            keep(w, second, err) < 0 || keep(w, NET_NCCL_SUM, err) < 0)
            return -1;
        w->round_ms = loop_now_ms() - begun;
    }
    if (p->rounds > 0)
        return 0;
    err_set_kind(err, NULL, FINDING_COULD_NOT_RUN,
                 "the time was over before the first round: give a longer --deadline");
    return -1;
}

int net_nccl_run(struct net_nccl *p, struct err *err)
{
    unsigned own = net_gpus_count(p->gpus);
    struct work w = {
        .p = p, .own = own, .ranks = own + p->others, .first = first_of(p)};
    int rc = -1;
    if (join(&w, err) == 0 && choose_words(&w, err) == 0)
        rc = rounds(&w, err);
    free(w.expected);
    free(w.seen);
    if (rc == 0)
        stages_set(p->stages, 0, "%s", "");
    else
        err_prefix(err, "NCCL");
    return rc;
}
