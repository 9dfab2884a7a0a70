// Claims under faults, seeded at random (claim_model.h). Invariants after each step:
//  - an agent runs ranks of one attempt at most;
//  - no two attempts run on all of their members at once;
//  - with one group for all launchers, no two attempts have ranks at the same time anywhere;
//    where agents lose their memory this holds for launchers that wait for all members.
// And from wherever that came to, once nothing fails any more: one launcher commands and its
// ranks all run within a bounded number of steps. Where agents are out of reach for good, that,
// or each launcher has ended with a reason. Nobody waits for ever.
#include <criterion/criterion.h>

#include "tests/unit/claim_model.h"
#include "wire/claim.h"

enum { SEEDS = 2000, STEPS = 1500, QUIET = 20000 };

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
            cr_assert(m->groups_differ || (m->partial && m->forgets) || first,
                      "seed %u step %u: ranks of two attempts at once", seed, at);
            any = &s->run;
            if (runs_on(m, &s->run) != s->run.seats)
                continue;
            cr_assert(whole == NULL || same_run(whole, &s->run),
                      "seed %u step %u: two attempts run whole", seed, at);
            whole = &s->run;
        }
        cr_assert_leq(here, 1, "seed %u step %u: two attempts on agent %u", seed, at,
                      a);
    }
}

// One launcher commands, its ranks all run, and no other one is there. 0: all have gone.
static int settled(const struct model *m)
{
    int commanding = 0;
    for (uint32_t i = 0; i < LAUNCHERS; i++) {
        const struct launcher *l = &m->launchers[i];
        if (l->phase == GONE)
            continue;
        struct run r = {l->life, claim_term(l->claim), l->attempt, l->seats};
        if (l->phase != GOING || runs_on(m, &r) != l->seats)
            return -1;
        commanding++;
    }
    return commanding;
}

static void settle(struct model *m, unsigned seed)
{
    unsigned n = 0;
    for (; n < QUIET && settled(m) != 1 && !(m->dead != 0 && settled(m) == 0); n++) {
        // Two can depose each other at once: Kubernetes starts one again.
        if (settled(m) == 0)
            claim_model_launch(m, &m->launchers[0]);
        claim_model_step(m, false);
        check(m, seed, STEPS + n);
    }
    cr_assert_lt(n, QUIET, "seed %u: somebody waits for ever", seed);
}

static void run_model(struct model *m, unsigned seed)
{
    claim_model_create(m, seed);
    for (unsigned n = 0; n < QUIET && m->groups_differ && settled(m) != 1; n++)
        claim_model_step(m, false); // all agents know the group that was first
    for (unsigned n = 0; n < STEPS; n++) {
        claim_model_step(m, true);
        check(m, seed, n);
    }
}

struct sum {
    unsigned takeovers, runs;
    unsigned given_up; // once nothing fails any more
};

// Each seed with a model of that kind; `dead`: afterwards up to four agents are out of reach.
static struct sum run_all(const struct model *kind, bool dead)
{
    struct sum sum = {0};
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct model m = *kind;
        run_model(&m, seed);
        unsigned before = m.given_up;
        if (dead)
            claim_model_kill(&m, seed % ((1U << AGENTS) - 1));
        if (!m.groups_differ)
            settle(&m, seed);
        sum.takeovers += m.takeovers;
        sum.runs += m.runs;
        sum.given_up += m.given_up - before;
        claim_model_destroy(&m);
    }
    return sum;
}

Test(claim_model, one_group_losses_restarts_and_forgetting, .timeout = 120)
{
    struct sum sum = run_all(&(struct model){.forgets = true}, false);
    cr_assert_gt(sum.takeovers, SEEDS); // the model does get somewhere
    cr_assert_gt(sum.runs, SEEDS);
}

Test(claim_model, launchers_that_do_not_wait_for_all_members_and_spares, .timeout = 120)
{
    struct sum sum = run_all(&(struct model){.partial = true}, false);
    cr_assert_gt(sum.takeovers, SEEDS);
    cr_assert_gt(sum.runs, 2 * SEEDS);
}

Test(claim_model, and_agents_that_forget, .timeout = 120)
{
    struct sum sum = run_all(&(struct model){.partial = true, .forgets = true}, false);
    cr_assert_gt(sum.takeovers, SEEDS);
}

Test(claim_model, agents_that_never_come_back_a_majority_too, .timeout = 120)
{
    struct sum sum = run_all(&(struct model){.partial = true, .forgets = true}, true);
    cr_assert_gt(sum.given_up, SEEDS / 8);
}

Test(claim_model, groups_that_differ_never_run_beside_each_other, .timeout = 120)
{
    struct sum sum = run_all(&(struct model){.groups_differ = true}, false);
    cr_assert_gt(sum.runs, SEEDS);
}
