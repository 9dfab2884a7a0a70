// The phase of the pairs without any network: steps, words of both ends, lost nodes, proofs.
#include <criterion/criterion.h>
#include <string.h>

#include "launcher/pairing.h"

enum { NODES_MAX = 8 };

static const struct pairing_word well = {
    .outcome = BLAME_OK, .mb_s = 1000, .rtt_us = 20};
static const struct pairing_word slow = {.outcome = BLAME_OK, .mb_s = 10, .rtt_us = 20};
static const struct pairing_word hangs = {.outcome = BLAME_HANGS};
static const struct pairing_word wrong = {.outcome = BLAME_WRONG};
static const struct pairing_word taken = {.outcome = BLAME_NOT_RUN, .taken = true};
static const struct pairing_word not_run = {.outcome = BLAME_NOT_RUN};

static struct thresholds thresholds;

static struct pairing *begin(size_t n)
{
    const struct blame_node nodes[NODES_MAX] = {{0}};
    thresholds_default(&thresholds);
    return pairing_create(nodes, n, &thresholds);
}

static void say(struct pairing *p, size_t a, size_t b, const struct pairing_word *w)
{
    pairing_said(p, a, w);
    pairing_said(p, b, w);
}

// Runs it to its end: pairs of `node` get `bad`, all others are well; with `other` (not SIZE_MAX)
// only that pair does. Returns how many pairs ran.
static size_t run(struct pairing *p, size_t node, size_t other,
                  const struct pairing_word *bad)
{
    size_t a, b, n = 0;
    for (; pairing_take(p, &a, &b); n++) {
        bool hit = a == node || b == node;
        if (other != (size_t)-1)
            hit = hit && (a == other || b == other);
        say(p, a, b, hit ? bad : &well);
    }
    cr_assert_eq(pairing_state(p), PAIRING_OVER);
    return n;
}

static struct blame only_blame(const struct pairing *p)
{
    struct blames blames;
    pairing_judge(p, &blames);
    cr_assert_eq(blames.n, 1);
    struct blame b = blames.v[0];
    blames_free(&blames);
    return b;
}

Test(pairing, one_node_has_no_pair_and_two_have_one)
{
    size_t a, b;
    struct pairing *p = begin(1);
    cr_assert_eq(pairing_state(p), PAIRING_OVER);
    cr_assert_not(pairing_take(p, &a, &b));
    pairing_destroy(p);
    p = begin(0);
    cr_assert_eq(pairing_state(p), PAIRING_OVER);
    pairing_destroy(p);
    p = begin(2);
    cr_assert_eq(run(p, 0, 1, &well), 1);
    pairing_destroy(p);
    pairing_destroy(NULL);
}

Test(pairing, a_step_begins_when_the_one_before_is_over)
{
    size_t a, b, over, all;
    struct pairing *p = begin(4);
    cr_assert(pairing_take(p, &a, &b));
    cr_assert(pairing_take(p, &a, &b));
    cr_assert_not(pairing_take(p, &a, &b));
    say(p, 0, 1, &well);
    cr_assert_not(pairing_take(p, &a, &b));
    pairing_said(p, 2, &well);
    pairing_said(p, 2, &well); // twice is once
    cr_assert_not(pairing_take(p, &a, &b));
    pairing_count(p, &over, &all);
    cr_assert(over == 1 && all == 6);
    pairing_said(p, 3, &well);
    cr_assert(pairing_take(p, &a, &b));
    cr_assert(a == 0 && b == 2);
    cr_assert_eq(pairing_state(p), PAIRING_ROUNDS);
    pairing_destroy(p);
}

Test(pairing, what_one_end_saw_counts)
{
    static const struct {
        const struct pairing_word *a, *b;
        enum blame_outcome outcome;
    } cases[] = {
        {&well, &slow, BLAME_OK},         {&well, &hangs, BLAME_HANGS},
        {&not_run, &hangs, BLAME_HANGS},  {&hangs, &wrong, BLAME_WRONG},
        {&well, &not_run, BLAME_NOT_RUN}, {&not_run, &not_run, BLAME_NOT_RUN},
    };
    size_t a, b, n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pairing *p = begin(2);
        pairing_take(p, &a, &b);
        pairing_said(p, a, cases[i].a);
        pairing_said(p, b, cases[i].b);
        const struct blame_pair *v = pairing_results(p, &n);
        cr_assert_eq(n, 1);
        cr_assert_eq(v[0].outcome, cases[i].outcome, "case %zu", i);
        cr_assert(i != 0 || v[0].mb_s == slow.mb_s);
        pairing_destroy(p);
    }
}

Test(pairing, a_port_that_is_taken_is_tried_again_but_not_for_ever)
{
    size_t a, b, tries = 0;
    struct pairing *p = begin(2);
    for (; pairing_take(p, &a, &b); tries++) {
        pairing_said(p, a, &taken);
        pairing_said(p, b, &not_run);
    }
    cr_assert_eq(tries, PAIRING_TRIES);
    cr_assert_eq(pairing_state(p), PAIRING_OVER);
    pairing_destroy(p);
}

Test(pairing, a_lost_node_has_no_more_pairs_and_is_not_blamed)
{
    size_t a, b, n = 0;
    struct blames blames;
    struct pairing *p = begin(4);
    pairing_take(p, &a, &b);
    pairing_take(p, &a, &b);
    pairing_lost(p, 3);
    pairing_said(p, 2, &hangs); // of that pair, which is over
    say(p, 0, 1, &well);
    for (; pairing_take(p, &a, &b); n++) {
        cr_assert(a != 3 && b != 3);
        say(p, a, b, &well);
    }
    cr_assert_eq(n, 2);
    cr_assert_eq(pairing_state(p), PAIRING_OVER);
    pairing_judge(p, &blames);
    cr_assert_eq(blames.n, 0);
    pairing_results(p, &n);
    cr_assert_eq(n, 6);
    blames_free(&blames);
    pairing_destroy(p);
}

Test(pairing, a_link_is_blamed_without_proofs_and_a_node_with_them)
{
    struct pairing *p = begin(6);
    cr_assert_eq(run(p, 1, 2, &slow), 6);
    struct blame b = only_blame(p);
    cr_assert(b.link && b.sure && b.a == 1 && b.b == 2);
    pairing_destroy(p);
    p = begin(6);
    cr_assert_gt(run(p, 3, (size_t)-1, &hangs), 6);
    b = only_blame(p);
    cr_assert(!b.link && b.a == 3);
    pairing_destroy(p);
}

Test(pairing, all_that_hangs_comes_to_an_end)
{
    for (size_t n = 2; n <= NODES_MAX; n++) {
        size_t a, b, ran = 0;
        struct pairing *p = begin(n);
        for (; pairing_take(p, &a, &b); ran++)
            say(p, a, b, &hangs);
        cr_assert_eq(pairing_state(p), PAIRING_OVER);
        cr_assert_leq(ran, n * (1 + BLAME_PROOFS));
        pairing_destroy(p);
    }
}
