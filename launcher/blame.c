// Grades of pairs, what they make of nodes, and what is left for the links.
#include "launcher/blame.h"

#include <stdlib.h>

#include "common/mem.h"

enum { ENOUGH = 2, CERTAIN = 3 }; // partners with whom a node at fault is bad

enum grade { UNKNOWN, BETWEEN, GOOD, BAD };

struct graded {
    enum grade grade;
    enum blame_cause cause; // BAD
};

// What is known of each node, and of each pair.
struct view {
    const struct blame_input *in;
    struct graded *pairs;
    double mb_s, rtt_us, rate; // medians, 0: none
    bool *cleared, *alone;     // nodes
    size_t *bad;               // different cleared partners with whom a node is BAD
    bool *suspect;             // BAD with somebody, and not cleared
};

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// Of the two in the middle the better one. Zeros do not count.
static double median(double *v, size_t n, bool less_is_better)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i] > 0)
            v[known++] = v[i];
    qsort(v, known, sizeof *v, by_value);
    if (known == 0)
        return 0;
    return less_is_better ? v[(known - 1) / 2] : v[known / 2];
}

static void keep_best(double *best, double value, bool less_is_better)
{
    if (value > 0 && (*best <= 0 || (less_is_better ? value < *best : value > *best)))
        *best = value;
}

static double median_of_bests(const struct blame_input *in, bool rtt)
{
    CLEANUP_FREE double *best = xcalloc(in->nnodes + 1, sizeof *best);
    for (size_t i = 0; i < in->npairs; i++) {
        const struct blame_pair *p = &in->pairs[i];
        if (p->outcome != BLAME_OK)
            continue;
        keep_best(&best[p->a], rtt ? p->rtt_us : p->mb_s, rtt);
        keep_best(&best[p->b], rtt ? p->rtt_us : p->mb_s, rtt);
    }
    return median(best, in->nnodes, rtt);
}

static double median_rate(const struct blame_input *in)
{
    CLEANUP_FREE double *rates = xcalloc(in->nnodes + 1, sizeof *rates);
    for (size_t i = 0; i < in->nnodes; i++)
        rates[i] = in->nodes[i].rate;
    return median(rates, in->nnodes, false);
}

static enum grade grade_rate(double value, double usual, double least,
                             const struct thresholds *t)
{
    if (value <= 0)
        return UNKNOWN;
    if (value < least || value * t->v[THRESHOLD_SLOW_FACTOR] < usual)
        return BAD;
    return value * t->v[THRESHOLD_CLEAR_FACTOR] >= usual ? GOOD : BETWEEN;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

// Short times differ by themselves: the slack is in microseconds.
static enum grade grade_rtt(double value, double usual, const struct thresholds *t)
{
    double slack = t->v[THRESHOLD_RTT_SLACK_US];
    if (value <= 0)
        return UNKNOWN;
    if (value > t->v[THRESHOLD_NET_MAX_RTT_US] ||
        value > larger(usual * t->v[THRESHOLD_SLOW_FACTOR], usual + slack))
        return BAD;
    return value <= larger(usual * t->v[THRESHOLD_CLEAR_FACTOR], usual + slack / 2)
               ? GOOD
               : BETWEEN;
}

static struct graded grade_pair(const struct view *v, const struct blame_pair *p)
{
    const struct thresholds *t = v->in->thresholds;
    if (p->outcome == BLAME_NOT_RUN)
        return (struct graded){.grade = UNKNOWN};
    if (p->outcome == BLAME_WRONG)
        return (struct graded){BAD, BLAME_WRONG_BYTES};
    if (p->outcome == BLAME_HANGS)
        return (struct graded){BAD, BLAME_NO_END};
    enum grade rate = grade_rate(p->mb_s, v->mb_s, t->v[THRESHOLD_NET_MIN_MB_S], t);
    enum grade rtt = grade_rtt(p->rtt_us, v->rtt_us, t);
    if (rate == BAD || rtt == BAD)
        return (struct graded){BAD, rate == BAD ? BLAME_SLOW : BLAME_LATE};
    if (rate == BETWEEN || rtt == BETWEEN)
        return (struct graded){.grade = BETWEEN};
    return (struct graded){.grade = rate == GOOD || rtt == GOOD ? GOOD : UNKNOWN};
}

static bool is_slow_alone(const struct view *v, const struct blame_node *node)
{
    return grade_rate(node->rate, v->rate, 0, v->in->thresholds) == BAD;
}

// Was there such a pair before number i, with that grade?
static bool is_repeated(const struct view *v, size_t i, enum grade grade)
{
    const struct blame_pair *p = v->in->pairs;
    for (size_t k = 0; k < i; k++)
        if (v->pairs[k].grade == grade && ((p[k].a == p[i].a && p[k].b == p[i].b) ||
                                           (p[k].a == p[i].b && p[k].b == p[i].a)))
            return true;
    return false;
}

static void count_bad(struct view *v, size_t i)
{
    const struct blame_pair *p = &v->in->pairs[i];
    if (v->pairs[i].grade != BAD || is_repeated(v, i, BAD))
        return;
    v->bad[p->a] += v->cleared[p->b] && !v->alone[p->b] ? 1 : 0;
    v->bad[p->b] += v->cleared[p->a] && !v->alone[p->a] ? 1 : 0;
    // Where one end is at fault by itself, that is why.
    v->suspect[p->a] |= !v->cleared[p->a] && !v->alone[p->a] && !v->alone[p->b];
    v->suspect[p->b] |= !v->cleared[p->b] && !v->alone[p->a] && !v->alone[p->b];
}

static void view_init(struct view *v, const struct blame_input *in)
{
    *v = (struct view){.in = in};
    v->pairs = xcalloc(in->npairs + 1, sizeof *v->pairs);
    v->cleared = xcalloc(in->nnodes + 1, sizeof *v->cleared);
    v->alone = xcalloc(in->nnodes + 1, sizeof *v->alone);
    v->suspect = xcalloc(in->nnodes + 1, sizeof *v->suspect);
    v->bad = xcalloc(in->nnodes + 1, sizeof *v->bad);
    v->mb_s = median_of_bests(in, false);
    v->rtt_us = median_of_bests(in, true);
    v->rate = median_rate(in);
    for (size_t i = 0; i < in->nnodes; i++)
        v->alone[i] = in->nodes[i].fails || is_slow_alone(v, &in->nodes[i]);
    for (size_t i = 0; i < in->npairs; i++) {
        v->pairs[i] = grade_pair(v, &in->pairs[i]);
        if (v->pairs[i].grade == GOOD)
            v->cleared[in->pairs[i].a] = v->cleared[in->pairs[i].b] = true;
    }
    for (size_t i = 0; i < in->npairs; i++)
        count_bad(v, i);
}

static void view_free(struct view *v)
{
    free(v->pairs);
    free(v->cleared);
    free(v->alone);
    free(v->suspect);
    free(v->bad);
}

static bool is_at_fault(const struct view *v, size_t node)
{
    return v->alone[node] || (v->suspect[node] && v->bad[node] >= ENOUGH);
}

static void add(struct blames *out, struct blame blame)
{
    out->v = xrealloc(out->v, out->n + 1, sizeof *out->v);
    out->v[out->n++] = blame;
}

static void set_numbers(const struct view *v, const struct blame_pair *p,
                        struct blame *b)
{
    if (b->cause == BLAME_SLOW) {
        b->value = p->mb_s;
        b->median = v->mb_s;
    } else if (b->cause == BLAME_LATE) {
        b->value = p->rtt_us;
        b->median = v->rtt_us;
    }
}

// Pair i is BAD, and not by its other end.
static bool speaks_against(const struct view *v, size_t i, size_t node)
{
    const struct blame_pair *p = &v->in->pairs[i];
    if (v->pairs[i].grade != BAD || (p->a != node && p->b != node))
        return false;
    size_t other = p->a == node ? p->b : p->a;
    return v->cleared[other] && !v->alone[other];
}

static void blame_node(const struct view *v, size_t node, struct blames *out)
{
    struct blame b = {.sure = true, .a = node, .b = node};
    if (v->alone[node]) {
        bool fails = v->in->nodes[node].fails;
        b.cause = fails ? BLAME_FAILS_ALONE : BLAME_SLOW_ALONE;
        b.value = fails ? 0 : v->in->nodes[node].rate;
        b.median = fails ? 0 : v->rate;
        add(out, b);
        return;
    }
    for (size_t i = 0; i < v->in->npairs; i++) {
        if (!speaks_against(v, i, node))
            continue;
        b.cause = v->pairs[i].cause;
        set_numbers(v, &v->in->pairs[i], &b);
        break;
    }
    add(out, b);
}

static void blame_link(const struct view *v, size_t i, struct blames *out)
{
    const struct blame_pair *p = &v->in->pairs[i];
    struct blame b = {.link = true,
                      .sure = v->cleared[p->a] && v->cleared[p->b],
                      .a = p->a < p->b ? p->a : p->b,
                      .b = p->a < p->b ? p->b : p->a,
                      .cause = v->pairs[i].cause};
    set_numbers(v, p, &b);
    add(out, b);
}

void blame_judge(const struct blame_input *in, struct blames *out)
{
    struct view v;
    *out = (struct blames){0};
    view_init(&v, in);
    for (size_t i = 0; i < in->nnodes; i++)
        if (is_at_fault(&v, i))
            blame_node(&v, i, out);
    for (size_t i = 0; i < in->npairs; i++)
        if (v.pairs[i].grade == BAD && !is_at_fault(&v, in->pairs[i].a) &&
            !is_at_fault(&v, in->pairs[i].b) && !is_repeated(&v, i, BAD))
            blame_link(&v, i, out);
    view_free(&v);
}

void blames_free(struct blames *blames)
{
    free(blames->v);
    *blames = (struct blames){0};
}

static bool have_met(const struct blame_input *in, size_t a, size_t b)
{
    for (size_t i = 0; i < in->npairs; i++)
        if (in->pairs[i].outcome != BLAME_NOT_RUN &&
            ((in->pairs[i].a == a && in->pairs[i].b == b) ||
             (in->pairs[i].a == b && in->pairs[i].b == a)))
            return true;
    return false;
}

static bool are_planned(const struct pairs *pairs, size_t a, size_t b)
{
    for (size_t i = 0; i < pairs->n; i++)
        if ((pairs->v[i].a == a && pairs->v[i].b == b) ||
            (pairs->v[i].a == b && pairs->v[i].b == a))
            return true;
    return false;
}

// The least busy node that could tell about `node`: a cleared one, else any that is new to
// it. nnodes: there is none.
static size_t find_partner(const struct view *v, size_t node, const unsigned *busy,
                           const struct pairs *more)
{
    size_t n = v->in->nnodes, found = n;
    for (size_t i = 0; i < n; i++) {
        if (i == node || v->alone[i] || have_met(v->in, node, i) ||
            are_planned(more, node, i))
            continue;
        bool better = found == n || (v->cleared[i] && !v->cleared[found]) ||
                      (v->cleared[i] == v->cleared[found] && busy[i] < busy[found]);
        found = better ? i : found;
    }
    return found;
}

void blame_proof(const struct blame_input *in, struct pairs *more)
{
    struct view v;
    CLEANUP_FREE unsigned *busy = xcalloc(in->nnodes + 1, sizeof *busy);
    *more = (struct pairs){0};
    view_init(&v, in);
    for (size_t i = 0; i < in->nnodes; i++) {
        if (!v.suspect[i] || v.bad[i] >= CERTAIN)
            continue;
        size_t partner = find_partner(&v, i, busy, more);
        if (partner == in->nnodes)
            continue;
        unsigned step = busy[i] > busy[partner] ? busy[i] : busy[partner];
        pairs_add(more, i, partner, step);
        busy[i] = busy[partner] = step + 1;
    }
    view_free(&v);
}

static const struct cause {
    const char *alone, *pairs;
    const char *unit;
} causes[] = {
    [BLAME_FAILS_ALONE] = {"it fails its own checks", "", NULL},
    [BLAME_SLOW_ALONE] = {"its copies are slow", "", "GB/s"},
    [BLAME_WRONG_BYTES] = {"", "wrong bytes", NULL},
    [BLAME_NO_END] = {"", "no end", NULL},
    [BLAME_SLOW] = {"", "slow", "MB/s"},
    [BLAME_LATE] = {"", "late round trips", "us"},
};

char *blame_text(const struct blame *blame, const char *const *names)
{
    const struct cause *c = &causes[blame->cause];
    CLEANUP_FREE char *numbers = c->unit == NULL
                                     ? xstrdup("")
                                     : xasprintf(" (%.4g %s, the median is %.4g)",
                                                 blame->value, c->unit, blame->median);
    if (blame->link)
        return xasprintf("%s and %s: %s between them%s%s", names[blame->a],
                         names[blame->b], c->pairs, numbers,
                         blame->sure ? "" : "; the link, or one of the two");
    if (c->alone[0] != '\0')
        return xasprintf("%s: %s%s", names[blame->a], c->alone, numbers);
    return xasprintf("%s: %s with different partners%s", names[blame->a], c->pairs,
                     numbers);
}
