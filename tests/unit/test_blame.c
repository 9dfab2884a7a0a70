// Pairs, and who is blamed: rules one by one, then planted faults by the hundred.
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "launcher/blame.h"

enum { MAX = 40, PAIRS_MAX = 4 * MAX, FAULTS_MAX = 2 };

static unsigned partners_of(const struct pairs *p, size_t node)
{
    unsigned n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += p->v[i].a == node || p->v[i].b == node ? 1 : 0;
    return n;
}

static bool share_a_node(const struct pair *x, const struct pair *y)
{
    return x->a == y->a || x->a == y->b || x->b == y->a || x->b == y->b;
}

Test(pairs, everybody_has_two_different_partners_and_none_at_the_same_time)
{
    for (size_t n = 2; n < MAX; n++) {
        struct pairs p;
        pairs_plan(&p, n);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(partners_of(&p, i), n <= PAIRS_ALL_MEET ? n - 1 : 2);
        for (size_t i = 0; i < p.n; i++) {
            cr_assert_lt(p.v[i].a, p.v[i].b);
            cr_assert_lt(p.v[i].step, n == 5 ? 5 : n == 4 || n % 2 == 1 ? 3 : 2);
            for (size_t k = 0; k < i; k++) {
                cr_assert(p.v[i].a != p.v[k].a || p.v[i].b != p.v[k].b);
                cr_assert(p.v[i].step != p.v[k].step ||
                          !share_a_node(&p.v[i], &p.v[k]));
            }
        }
        pairs_free(&p);
    }
}

Test(pairs, of_few_nodes)
{
    static const size_t want[] = {0, 0, 1, 3, 6, 10, 6};
    for (size_t n = 0; n < 7; n++) {
        struct pairs p;
        pairs_plan(&p, n);
        cr_assert_eq(p.n, want[n]);
        pairs_free(&p);
    }
}

// A group in which everything is well until it is said otherwise.
struct bed {
    struct thresholds thresholds;
    struct blame_node nodes[MAX];
    struct blame_pair pairs[PAIRS_MAX];
    struct blame_input in;
    struct blames found;
};

static void bed_init(struct bed *b, size_t n)
{
    struct pairs p;
    memset(b, 0, sizeof *b);
    thresholds_default(&b->thresholds);
    b->in = (struct blame_input){b->nodes, n, b->pairs, 0, &b->thresholds};
    for (size_t i = 0; i < n; i++)
        b->nodes[i].rate = 10;
    pairs_plan(&p, n);
    for (size_t i = 0; i < p.n; i++)
        b->pairs[b->in.npairs++] =
            (struct blame_pair){p.v[i].a, p.v[i].b, BLAME_OK, 1000, 50};
    pairs_free(&p);
}

static struct blame_pair *between(struct bed *b, size_t x, size_t y)
{
    for (size_t i = 0; i < b->in.npairs; i++)
        if (b->pairs[i].a == x && b->pairs[i].b == y)
            return &b->pairs[i];
    cr_assert_fail("no pair of %zu and %zu", x, y);
    return NULL;
}

static const struct blame *judged(struct bed *b, size_t n)
{
    blame_judge(&b->in, &b->found);
    cr_assert_eq(b->found.n, n, "%zu blames", b->found.n);
    return b->found.v;
}

static size_t proofs_of(struct bed *b)
{
    struct pairs more;
    blame_proof(&b->in, &more);
    size_t n = more.n;
    pairs_free(&more);
    return n;
}

Test(blame, nobody_where_all_is_well)
{
    struct bed b;
    bed_init(&b, 7);
    judged(&b, 0);
    cr_assert_eq(proofs_of(&b), 0);
}

Test(blame, a_node_that_fails_alone_whatever_its_pairs_say)
{
    struct bed b;
    bed_init(&b, 4);
    b.nodes[2].fails = true;
    between(&b, 2, 3)->outcome = BLAME_HANGS;
    const struct blame *v = judged(&b, 1);
    cr_assert(!v->link && v->a == 2 && v->cause == BLAME_FAILS_ALONE);
    blames_free(&b.found);
}

Test(blame, a_node_whose_copies_are_slow)
{
    struct bed b;
    bed_init(&b, 4);
    b.nodes[1].rate = 4.9;
    b.nodes[2].rate = 5.1;
    const struct blame *v = judged(&b, 1);
    static const char *const names[] = {"ash", "birch", "cedar", "fir"};
    CLEANUP_FREE char *text = blame_text(v, names);
    cr_assert_str_eq(text, "birch: its copies are slow (4.9 GB/s, the median is 10)");
    blames_free(&b.found);
}

Test(blame, the_link_when_both_ends_are_good_with_others)
{
    struct bed b;
    bed_init(&b, 6);
    between(&b, 2, 3)->outcome = BLAME_WRONG;
    const struct blame *v = judged(&b, 1);
    cr_assert(v->link && v->sure && v->a == 2 && v->b == 3);
    cr_assert_eq(proofs_of(&b), 0);
    blames_free(&b.found);
}

Test(blame, a_node_that_is_bad_with_two_partners)
{
    struct bed b;
    bed_init(&b, 6);
    between(&b, 2, 3)->mb_s = 400;
    between(&b, 3, 4)->mb_s = 410;
    const struct blame *v = judged(&b, 1);
    cr_assert(!v->link && v->a == 3 && v->cause == BLAME_SLOW);
    cr_assert_float_eq(v->median, 1000, 1e-9);
    blames_free(&b.found);
}

// 2 is slow, 3 spoils bytes, also those of 2.
Test(blame, the_reason_is_what_a_node_does_to_those_that_are_well)
{
    struct bed b;
    bed_init(&b, 5);
    for (size_t i = 0; i < b.in.npairs; i++) {
        struct blame_pair *p = &b.pairs[i];
        if (p->a == 3 || p->b == 3)
            p->outcome = BLAME_WRONG;
        else if (p->a == 2 || p->b == 2)
            p->mb_s = 100;
    }
    const struct blame_pair first = *between(&b, 2, 3);
    *between(&b, 2, 3) = b.pairs[0];
    b.pairs[0] = first;
    const struct blame *v = judged(&b, 2);
    cr_assert(v[0].a == 2 && v[0].cause == BLAME_SLOW && v[0].value == 100);
    cr_assert(v[1].a == 3 && v[1].cause == BLAME_WRONG_BYTES);
    blames_free(&b.found);
}

Test(blame, of_two_nodes_their_link_and_it_may_be_one_of_them)
{
    struct bed b;
    bed_init(&b, 2);
    between(&b, 0, 1)->outcome = BLAME_HANGS;
    const struct blame *v = judged(&b, 1);
    cr_assert(v->link && !v->sure);
    cr_assert_eq(proofs_of(&b), 0); // there is nobody else
    static const char *const names[] = {"ash", "birch"};
    CLEANUP_FREE char *text = blame_text(v, names);
    cr_assert_str_eq(text,
                     "ash and birch: no end between them; the link, or one of the two");
    blames_free(&b.found);
}

// 1 is between two nodes at fault, and bad with two partners: it is not blamed for that.
Test(blame, not_the_one_between_two_that_are_at_fault)
{
    struct bed b;
    bed_init(&b, 8);
    for (size_t i = 0; i < 3; i++)
        between(&b, i, i + 1)->outcome = BLAME_HANGS;
    between(&b, 0, 7)->outcome = BLAME_HANGS;
    blame_judge(&b.in, &b.found);
    for (size_t i = 0; i < b.found.n; i++)
        cr_assert(b.found.v[i].link && !b.found.v[i].sure);
    cr_assert_gt(proofs_of(&b), 0);
    blames_free(&b.found);
}

Test(blame, what_did_not_run_says_nothing)
{
    struct bed b;
    bed_init(&b, 5);
    for (size_t i = 0; i < b.in.npairs; i++)
        b.pairs[i] =
            (struct blame_pair){b.pairs[i].a, b.pairs[i].b, BLAME_NOT_RUN, 0, 0};
    judged(&b, 0);
    bed_init(&b, 5);
    between(&b, 1, 2)->outcome = BLAME_NOT_RUN;
    judged(&b, 0);
}

Test(blame, late_round_trips_count_beyond_the_slack)
{
    struct bed b;
    bed_init(&b, 6);
    between(&b, 2, 3)->rtt_us = 140; // 50 + 100 is the least that counts
    judged(&b, 0);
    between(&b, 2, 3)->rtt_us = 151;
    const struct blame *v = judged(&b, 1);
    cr_assert(v->link && v->cause == BLAME_LATE);
    blames_free(&b.found);
}

// ---- planted faults ----

enum fault_kind {
    NODE_ALONE,
    NODE_WRONG,
    NODE_HANGS,
    NODE_SLOW,
    NODE_LATE,
    LINK_WRONG,
    LINK_HANGS,
    LINK_SLOW,
    FAULT_KINDS
};

struct fault {
    enum fault_kind kind;
    size_t a, b;
    double factor; // of the slow ones
};

struct trial {
    uint64_t random;
    struct fault faults[FAULTS_MAX];
    size_t nfaults;
    struct bed bed;
};

static uint64_t draw(struct trial *t, uint64_t below)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return (t->random >> 11) % below;
}

static double draw_between(struct trial *t, double low, double high)
{
    return low + (high - low) * (double)draw(t, 1000001) / 1e6;
}

static bool is_link(const struct fault *f)
{
    return f->kind >= LINK_WRONG;
}

static bool strikes(const struct fault *f, size_t a, size_t b)
{
    if (is_link(f))
        return (f->a == a && f->b == b) || (f->a == b && f->b == a);
    return f->kind != NODE_ALONE && (f->a == a || f->a == b);
}

// Best of three, each of which noise makes up to 15 % worse.
static double best(struct trial *t, double value, bool less_is_better)
{
    double result = 0;
    for (int i = 0; i < BLAME_TRIES; i++) {
        double noise = draw_between(t, 1, 1.15);
        double v = less_is_better ? value * noise : value / noise;
        if (result <= 0 || (less_is_better ? v < result : v > result))
            result = v;
    }
    return result;
}

static void measure(struct trial *t, size_t a, size_t b)
{
    struct blame_pair p = {a, b, BLAME_OK, 1000, 400};
    for (size_t i = 0; i < t->nfaults; i++) {
        const struct fault *f = &t->faults[i];
        if (!strikes(f, a, b))
            continue;
        if (f->kind == NODE_WRONG || f->kind == LINK_WRONG)
            p.outcome = p.outcome == BLAME_HANGS ? BLAME_HANGS : BLAME_WRONG;
        else if (f->kind == NODE_HANGS || f->kind == LINK_HANGS)
            p.outcome = BLAME_HANGS;
        else if (f->kind == NODE_LATE)
            p.rtt_us = fmax(p.rtt_us, 400 * f->factor);
        else
            p.mb_s = fmin(p.mb_s, 1000 / f->factor); // the slower of the two
    }
    p.mb_s = best(t, p.mb_s, false);
    p.rtt_us = best(t, p.rtt_us, true);
    cr_assert_lt(t->bed.in.npairs, PAIRS_MAX);
    t->bed.pairs[t->bed.in.npairs++] = p;
}

static void plant(struct trial *t, size_t n, bool near)
{
    struct fault *f = &t->faults[t->nfaults];
    const struct fault *before = &t->faults[0];
    do {
        f->kind = (enum fault_kind)draw(t, FAULT_KINDS);
        f->a = draw(t, n);
        f->b = is_link(f) ? (f->a + 1) % n : f->a; // one that the plan has
    } while (t->nfaults > 0 && f->a == before->a && f->b == before->b);
    f->factor = near ? draw_between(t, 1.2, 2.4) : draw_between(t, 2.5, 20);
    t->nfaults++;
}

// Measures, judges, and asks for proof as a launcher does.
static void run_trial(struct trial *t, size_t n)
{
    struct pairs pairs;
    bed_init(&t->bed, n);
    t->bed.in.npairs = 0;
    for (size_t i = 0; i < n; i++)
        t->bed.nodes[i].rate = best(t, 10, false);
    for (size_t i = 0; i < t->nfaults; i++)
        if (t->faults[i].kind == NODE_ALONE)
            t->bed.nodes[t->faults[i].a].fails = true;
    pairs_plan(&pairs, n);
    for (unsigned round = 0; round <= BLAME_PROOFS && pairs.n > 0; round++) {
        for (size_t i = 0; i < pairs.n; i++)
            measure(t, pairs.v[i].a, pairs.v[i].b);
        pairs_free(&pairs);
        blame_proof(&t->bed.in, &pairs);
    }
    pairs_free(&pairs);
    blame_judge(&t->bed.in, &t->bed.found);
}

static bool is_planted(const struct trial *t, const struct blame *blame)
{
    for (size_t i = 0; i < t->nfaults; i++) {
        const struct fault *f = &t->faults[i];
        bool same_link = is_link(f) && strikes(f, blame->a, blame->b);
        if (blame->link ? same_link : !is_link(f) && f->a == blame->a)
            return true;
        if (blame->link && !blame->sure && strikes(f, blame->a, blame->b))
            return true; // "the link, or one of the two"
    }
    return false;
}

static bool is_found(const struct trial *t, const struct fault *f)
{
    for (size_t i = 0; i < t->bed.found.n; i++) {
        const struct blame *blame = &t->bed.found.v[i];
        if (is_link(f) ? blame->link && blame->sure && strikes(f, blame->a, blame->b)
                       : !blame->link && blame->a == f->a)
            return true;
    }
    return false;
}

// A fault of the link beside a node at fault is that node's.
static bool is_hidden(const struct trial *t, const struct fault *f)
{
    for (size_t i = 0; i < t->nfaults; i++)
        if (is_link(f) && !is_link(&t->faults[i]) &&
            (t->faults[i].a == f->a || t->faults[i].a == f->b))
            return true;
    return false;
}

static void check_trial(const struct trial *t, size_t n, unsigned number, bool near)
{
    for (size_t k = 0; k < t->bed.found.n; k++)
        cr_assert(is_planted(t, &t->bed.found.v[k]), "trial %u: wrong blame", number);
    for (size_t k = 0; k < t->nfaults && !near; k++)
        cr_assert(is_found(t, &t->faults[k]) || is_hidden(t, &t->faults[k]),
                  "trial %u of %zu nodes: fault %zu (kind %d, %zu, %zu) is not found",
                  number, n, k, (int)t->faults[k].kind, t->faults[k].a, t->faults[k].b);
}

static void trials(uint64_t seed, size_t faults, bool near, unsigned count,
                   size_t least)
{
    for (unsigned i = 0; i < count; i++) {
        struct trial t = {.random = (seed << 32) + i * 977 + 1};
        size_t n = least + draw(&t, MAX - least);
        for (size_t k = 0; k < faults; k++)
            plant(&t, n, near);
        run_trial(&t, n);
        check_trial(&t, n, i, near);
        blames_free(&t.bed.found);
    }
}

Test(blame, finds_one_planted_fault_in_300_trials)
{
    trials(1, 1, false, 300, 3);
}

Test(blame, finds_two_planted_faults_at_once_in_300_trials)
{
    trials(2, 2, false, 300, 6);
}

Test(blame, blames_nobody_else_in_small_groups_with_two_faults)
{
    for (unsigned i = 0; i < 300; i++) {
        struct trial t = {.random = (UINT64_C(5) << 32) + i * 977 + 1};
        size_t n = 2 + draw(&t, 4);
        plant(&t, n, false);
        plant(&t, n, false);
        if (n == 3 && is_link(&t.faults[0]) && is_link(&t.faults[1]))
            continue; // the node at both looks as one at fault: there is no third partner
        run_trial(&t, n);
        for (size_t k = 0; k < t.bed.found.n; k++)
            cr_assert(is_planted(&t, &t.bed.found.v[k]),
                      "trial %u of %zu nodes: wrong blame; planted: %d (%zu, %zu), %d "
                      "(%zu, %zu)",
                      i, n, (int)t.faults[0].kind, t.faults[0].a, t.faults[0].b,
                      (int)t.faults[1].kind, t.faults[1].a, t.faults[1].b);
        blames_free(&t.bed.found);
    }
}

Test(blame, blames_nobody_else_near_the_threshold_in_600_trials)
{
    trials(3, 1, true, 300, 3);
    trials(4, 2, true, 300, 6);
}

// A fault that shows in pairs and that a group of n can have, by its number; false: there are no more.
static bool nth_fault(size_t n, size_t number, struct fault *f)
{
    struct pairs pairs;
    size_t nodes = (LINK_WRONG - NODE_WRONG) * n;
    pairs_plan(&pairs, n);
    bool is_there = number < nodes + (FAULT_KINDS - LINK_WRONG) * pairs.n;
    *f = (struct fault){.factor = 4};
    if (number < nodes) {
        f->kind = (enum fault_kind)(NODE_WRONG + number / n);
        f->a = f->b = number % n;
    } else if (is_there) {
        number -= nodes;
        f->kind = (enum fault_kind)(LINK_WRONG + number / pairs.n);
        f->a = pairs.v[number % pairs.n].a;
        f->b = pairs.v[number % pairs.n].b;
    }
    pairs_free(&pairs);
    return is_there;
}

// Slow partners on both sides included: who has no others in a group of four or five?
Test(blame, finds_any_two_faults_of_four_to_eight_nodes)
{
    for (size_t n = 4; n <= 8; n++) {
        struct fault f[FAULTS_MAX];
        for (unsigned i = 0; nth_fault(n, i, &f[0]); i++)
            for (unsigned k = 0; k <= i && nth_fault(n, k, &f[1]); k++) {
                struct trial t = {.random = 1 + i * 977 + k, .nfaults = FAULTS_MAX};
                memcpy(t.faults, f, sizeof f);
                run_trial(&t, n);
                check_trial(&t, n, i * 1000 + k, false);
                blames_free(&t.bed.found);
            }
    }
}
