// Steps of pairs, one after the other, and proofs for suspects.
#include "launcher/pairing.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

struct run { // a pair of the step
    size_t ends[2];
    bool begun, over;
    bool said[2];
    struct pairing_word words[2];
    unsigned tries;
};

struct pairing {
    enum pairing_state state;
    struct blame_node *nodes;
    bool *lost;
    size_t nnodes;
    const struct thresholds *thresholds;
    struct pairs plan; // of the round, or of the proof
    unsigned step;     // of the plan
    unsigned proofs;
    struct run *runs; // of the step
    size_t nruns;
    struct blame_pair *results;
    size_t nresults;
};

// ---- two words, one outcome ---------------------------------------------------------

static double less(double a, double b)
{
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

// What one end saw counts where the other one saw nothing: who hears nothing has the
// network to blame, though the other end says that nobody came.
static enum blame_outcome outcome_of(const struct pairing_word *w)
{
    static const enum blame_outcome ascending[] = {BLAME_OK, BLAME_NOT_RUN, BLAME_HANGS,
                                                   BLAME_WRONG};
    for (size_t i = sizeof ascending / sizeof *ascending; i-- > 0;)
        if (w[0].outcome == ascending[i] || w[1].outcome == ascending[i])
            return ascending[i];
    return BLAME_NOT_RUN;
}

static void add_result(struct pairing *p, const struct run *r,
                       enum blame_outcome outcome)
{
    struct blame_pair pair = {.a = r->ends[0], .b = r->ends[1], .outcome = outcome};
    if (outcome == BLAME_OK) {
        pair.mb_s = less(r->words[0].mb_s, r->words[1].mb_s);
        pair.rtt_us = less(r->words[0].rtt_us, r->words[1].rtt_us);
    }
    p->results = xrealloc(p->results, p->nresults + 1, sizeof *p->results);
    p->results[p->nresults++] = pair;
}

static void finish(struct pairing *p, struct run *r, enum blame_outcome outcome)
{
    r->over = true;
    add_result(p, r, outcome);
}

static bool is_for_another_port(const struct run *r)
{
    return (r->words[0].taken || r->words[1].taken) && r->tries < PAIRING_TRIES;
}

// ---- steps ----------------------------------------------------------------------------

static bool is_step_over(const struct pairing *p)
{
    for (size_t i = 0; i < p->nruns; i++)
        if (!p->runs[i].over)
            return false;
    return true;
}

// False: the plan has no such step.
static bool begin_step(struct pairing *p, unsigned step)
{
    p->step = step;
    p->nruns = 0;
    for (size_t i = 0; i < p->plan.n; i++) {
        const struct pair *pair = &p->plan.v[i];
        if (pair->step != step)
            continue;
        p->runs = xrealloc(p->runs, p->nruns + 1, sizeof *p->runs);
        p->runs[p->nruns++] = (struct run){.ends = {pair->a, pair->b}};
    }
    for (size_t i = 0; i < p->nruns; i++)
        if (p->lost[p->runs[i].ends[0]] || p->lost[p->runs[i].ends[1]])
            finish(p, &p->runs[i], BLAME_NOT_RUN);
    return p->nruns > 0;
}

static struct blame_input input_of(const struct pairing *p)
{
    return (struct blame_input){.nodes = p->nodes,
                                .nnodes = p->nnodes,
                                .pairs = p->results,
                                .npairs = p->nresults,
                                .thresholds = p->thresholds};
}

static void next_plan(struct pairing *p)
{
    const struct blame_input in = input_of(p);
    pairs_free(&p->plan);
    p->state = PAIRING_OVER;
    if (p->proofs == BLAME_PROOFS)
        return;
    blame_proof(&in, &p->plan);
    p->proofs++;
    if (p->plan.n > 0 && begin_step(p, 0))
        p->state = PAIRING_PROOF;
}

static void look(struct pairing *p)
{
    while (p->state != PAIRING_OVER && is_step_over(p))
        if (!begin_step(p, p->step + 1))
            next_plan(p);
}

// ---- what happens -----------------------------------------------------------------------

bool pairing_take(struct pairing *p, size_t *serves, size_t *dials)
{
    for (size_t i = 0; i < p->nruns && p->state != PAIRING_OVER; i++) {
        struct run *r = &p->runs[i];
        if (r->begun || r->over)
            continue;
        r->begun = true;
        r->tries++;
        *serves = r->ends[0];
        *dials = r->ends[1];
        return true;
    }
    return false;
}

static struct run *run_of(const struct pairing *p, size_t node, int *end)
{
    for (size_t i = 0; i < p->nruns && p->state != PAIRING_OVER; i++)
        for (int e = 0; e < 2; e++)
            if (p->runs[i].ends[e] == node && !p->runs[i].over) {
                *end = e;
                return &p->runs[i];
            }
    return NULL;
}

void pairing_said(struct pairing *p, size_t node, const struct pairing_word *w)
{
    int end;
    struct run *r = run_of(p, node, &end);
    if (r == NULL || !r->begun || r->said[end])
        return;
    r->said[end] = true;
    r->words[end] = *w;
    if (!r->said[!end])
        return;
    if (is_for_another_port(r)) {
        r->begun = r->said[0] = r->said[1] = false;
        return;
    }
    finish(p, r, outcome_of(r->words));
    look(p);
}

void pairing_lost(struct pairing *p, size_t node)
{
    int end;
    p->lost[node] = true;
    struct run *r = run_of(p, node, &end);
    if (r == NULL)
        return;
    finish(p, r, BLAME_NOT_RUN);
    look(p);
}

// ---- what is known ------------------------------------------------------------------------

enum pairing_state pairing_state(const struct pairing *p)
{
    return p->state;
}

const char *pairing_state_name(enum pairing_state s)
{
    static const char *const names[PAIRING_STATES] = {"rounds", "proof", "over"};
    return names[s];
}

void pairing_count(const struct pairing *p, size_t *over, size_t *all)
{
    *over = *all = p->nresults;
    for (size_t i = 0; i < p->plan.n; i++)
        *all += p->plan.v[i].step > p->step ? 1 : 0;
    for (size_t i = 0; i < p->nruns; i++)
        *all += p->runs[i].over ? 0 : 1;
}

const struct blame_pair *pairing_results(const struct pairing *p, size_t *n)
{
    *n = p->nresults;
    return p->results;
}

void pairing_judge(const struct pairing *p, struct blames *out)
{
    const struct blame_input in = input_of(p);
    blame_judge(&in, out);
}

// ---- life -----------------------------------------------------------------------------------

struct pairing *pairing_create(const struct blame_node *nodes, size_t n,
                               const struct thresholds *thresholds)
{
    struct pairing *p = xcalloc(1, sizeof *p);
    p->nodes = xcalloc(n, sizeof *p->nodes);
    p->lost = xcalloc(n, sizeof *p->lost);
    memcpy(p->nodes, nodes, n * sizeof *nodes);
    p->nnodes = n;
    p->thresholds = thresholds;
    pairs_plan(&p->plan, n);
    begin_step(p, 0);
    look(p); // one node has no pair
    return p;
}

void pairing_destroy(struct pairing *p)
{
    if (p == NULL)
        return;
    pairs_free(&p->plan);
    free(p->nodes);
    free(p->lost);
    free(p->runs);
    free(p->results);
    free(p);
}
