// Sums go over tokens in one order, in double.
#include "kernels/infer/sampler.h"

#include <stdlib.h>

#include "common/mem.h"
#include "kernels/model/mix.h"

struct candidate {
    float p;
    int32_t token;
};

struct sampler {
    const struct compute *compute;
    size_t vocab;
    struct candidate *candidates;
};

struct sampler *sampler_create(const struct compute *compute, size_t vocab)
{
    struct sampler *s = xcalloc(1, sizeof *s);
    *s = (struct sampler){.compute = compute, .vocab = vocab};
    s->candidates = xcalloc(vocab, sizeof *s->candidates);
    return s;
}

void sampler_destroy(struct sampler *s)
{
    if (s == NULL)
        return;
    free(s->candidates);
    free(s);
}

static int32_t likeliest(const float *logits, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return (int32_t)best;
}

// A number from 0 to 1 for this seed and position.
static double chance(uint64_t seed, uint64_t pos)
{
    return (double)(mix(seed + pos * MIX_STEP) >> 11) * 0x1p-53;
}

static int by_chance(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->p != y->p)
        return x->p < y->p ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

// The likeliest first, as many as it takes for top_p, one at least. Who has less than an equal
// share of what is left out cannot be among them.
static size_t take_top(struct sampler *s, const float *p, float top_p)
{
    float least = (1.0F - top_p) / (float)s->vocab;
    size_t n = 0;
    for (size_t i = 0; i < s->vocab; i++)
        if (p[i] >= least)
            s->candidates[n++] = (struct candidate){.p = p[i], .token = (int32_t)i};
    qsort(s->candidates, n, sizeof *s->candidates, by_chance);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if ((sum += (double)s->candidates[i].p) >= (double)top_p)
            return i + 1;
    return n;
}

static size_t take_all(struct sampler *s, const float *p)
{
    for (size_t i = 0; i < s->vocab; i++)
        s->candidates[i] = (struct candidate){.p = p[i], .token = (int32_t)i};
    return s->vocab;
}

static int32_t draw(const struct candidate *c, size_t n, double where)
{
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        total += (double)c[i].p;
    for (size_t i = 0; i < n; i++)
        if ((sum += (double)c[i].p) > where * total)
            return c[i].token;
    return c[n - 1].token;
}

int32_t sampler_pick(struct sampler *s, float *logits, const struct sampler_how *how,
                     uint64_t pos)
{
    int32_t best = likeliest(logits, s->vocab);
    if (how->temperature <= 0)
        return best;
    float most = logits[best];
    for (size_t i = 0; i < s->vocab; i++)
        logits[i] = (logits[i] - most) / how->temperature;
    s->compute->softmax(logits, 1, s->vocab);
    size_t n = how->top_p < 1 ? take_top(s, logits, how->top_p) : take_all(s, logits);
    return n > 0 ? draw(s->candidates, n, chance(how->seed, pos)) : best;
}
