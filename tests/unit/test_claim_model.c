// Claims under faults, seeded at random (claim_model.h). Invariants after each step:
//  - an agent runs ranks of one attempt at most;
//  - with one group for all launchers, no two attempts have ranks at the same time anywhere;
//  - with groups that differ, no two attempts run on all of their members at once.
// And once nothing fails any more: one launcher commands and its ranks all run within a
// bounded number of steps; nobody waits for ever.
#include <criterion/criterion.h>

#include "tests/unit/claim_model.h"
#include "wire/claim.h"

enum { SEEDS = 1000, STEPS = 1500, QUIET = 20000 };

// ---- invariants -----------------------------------------------------------------------

static bool same_run(const struct run *a, const struct run *b)
{
    return a->life == b->life && a->term == b->term && a->attempt == b->attempt;
}

// Members of the attempt on which its ranks run.
static uint32_t runs_on(const struct model *m, const struct run *r)
{
    uint32_t set = 0;
    for (uint32_t a = 0; a < AGENTS; a++)
        for (size_t i = 0; i < SESSIONS; i++) {
            const struct session *s = &m->agents[a].sessions[i];
            set |=
                s->there && s->ranks == RUNNING && same_run(&s->run, r) ? 1U << a : 0;
        }
    return set;
}

static void check(const struct model *m, unsigned seed, unsigned at)
{
    const struct run *any = NULL, *whole = NULL;
    for (uint32_t a = 0; a < AGENTS; a++) {
        unsigned here = 0;
        for (size_t i = 0; i < SESSIONS; i++) {
            const struct session *s = &m->agents[a].sessions[i];
            if (!claim_model_has_ranks(s))
                continue;
            here++;
            bool first = any == NULL || same_run(any, &s->run);
            cr_assert(m->groups_differ || first,
                      "seed %u step %u: ranks of two attempts at once", seed, at);
            any = &s->run;
            if (runs_on(m, &s->run) != s->run.members)
                continue;
            cr_assert(whole == NULL || same_run(whole, &s->run),
                      "seed %u step %u: two attempts run whole", seed, at);
            whole = &s->run;
        }
        cr_assert_leq(here, 1, "seed %u step %u: two attempts on agent %u", seed, at,
                      a);
    }
}

// One launcher commands, its ranks run on all of its members, and nothing is on its way.
static bool is_settled(const struct model *m)
{
    unsigned commanding = 0;
    for (uint32_t i = 0; i < LAUNCHERS; i++) {
        const struct launcher *l = &m->launchers[i];
        if (l->phase == GONE)
            continue;
        struct run r = {l->life, claim_term(l->claim), l->attempt, l->members};
        if (l->phase != GOING || runs_on(m, &r) != l->members)
            return false;
        commanding++;
    }
    return commanding == 1;
}

static void settle(struct model *m, unsigned seed)
{
    unsigned n = 0;
    bool nobody = true;
    for (uint32_t i = 0; i < LAUNCHERS; i++)
        nobody = nobody && m->launchers[i].phase == GONE;
    if (nobody)
        claim_model_launch(m, &m->launchers[0]);
    for (; n < QUIET && !is_settled(m); n++) {
        claim_model_step(m, false);
        check(m, seed, STEPS + n);
        // Two can depose each other at once: Kubernetes starts one again.
        if (m->launchers[0].phase == GONE && m->launchers[1].phase == GONE)
            claim_model_launch(m, &m->launchers[0]);
    }
    cr_assert_lt(n, QUIET, "seed %u: somebody waits for ever", seed);
}

static void run_model(struct model *m, unsigned seed)
{
    claim_model_create(m, seed);
    for (unsigned n = 0; n < QUIET && m->groups_differ && !is_settled(m); n++)
        claim_model_step(m, false); // all agents know the group that was first
    for (unsigned n = 0; n < STEPS; n++) {
        claim_model_step(m, true);
        check(m, seed, n);
    }
}

Test(claim_model, one_group_losses_restarts_and_forgetting, .timeout = 120)
{
    unsigned takeovers = 0, runs = 0;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct model m = {.forgets = true};
        run_model(&m, seed);
        settle(&m, seed);
        takeovers += m.takeovers;
        runs += m.runs;
        claim_model_destroy(&m);
    }
    cr_assert_gt(takeovers, SEEDS); // the model does get somewhere
    cr_assert_gt(runs, SEEDS);
}

Test(claim_model, groups_that_differ_never_run_beside_each_other, .timeout = 120)
{
    unsigned runs = 0;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct model m = {.groups_differ = true};
        run_model(&m, seed);
        runs += m.runs;
        claim_model_destroy(&m);
    }
    cr_assert_gt(runs, SEEDS);
}
