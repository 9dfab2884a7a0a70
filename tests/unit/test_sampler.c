// What is drawn: the likeliest, or by its chance, from a seed and a position alone.
#include <criterion/criterion.h>
#include <math.h>

#include "kernels/infer/sampler.h"

enum { VOCAB = 5 };

static const float chances[VOCAB] = {0.1F, 0.4F, 0.05F, 0.4F, 0.05F};

static int32_t pick(struct sampler *s, float temperature, float top_p, uint64_t seed,
                    uint64_t pos)
{
    float logits[VOCAB];
    for (int i = 0; i < VOCAB; i++)
        logits[i] = logf(chances[i]);
    const struct sampler_how how = {
        .seed = seed, .temperature = temperature, .top_p = top_p};
    return sampler_pick(s, logits, &how, pos);
}

Test(sampler, temperature_0_takes_the_first_of_the_likeliest)
{
    struct sampler *s = sampler_create(compute_cpu(), VOCAB);
    for (uint64_t pos = 0; pos < 100; pos++)
        cr_assert_eq(pick(s, 0, 1, pos, pos), 1);
    sampler_destroy(s);
}

Test(sampler, draws_by_chance)
{
    enum { N = 20000 };
    struct sampler *s = sampler_create(compute_cpu(), VOCAB);
    int count[VOCAB] = {0};
    for (uint64_t pos = 0; pos < N; pos++)
        count[pick(s, 1, 1, 7, pos)]++;
    // Five standard deviations of the most uncertain one are 0.018.
    for (int i = 0; i < VOCAB; i++)
        cr_assert_float_eq((float)count[i] / N, chances[i], 0.018, "%d: %d", i,
                           count[i]);
    sampler_destroy(s);
}

Test(sampler, top_p_leaves_the_rest_out)
{
    struct sampler *s = sampler_create(compute_cpu(), VOCAB);
    int count[VOCAB] = {0};
    for (uint64_t pos = 0; pos < 1000; pos++) {
        count[pick(s, 1, 0.7F, 1, pos)]++;
        cr_assert_eq(pick(s, 1, 0, 1, pos), 1); // one at least
    }
    cr_assert_eq(count[1] + count[3], 1000);
    cr_assert_gt(count[1], 400);
    cr_assert_gt(count[3], 400);
    sampler_destroy(s);
}

Test(sampler, seed_and_position_decide)
{
    struct sampler *s = sampler_create(compute_cpu(), VOCAB);
    int differ = 0;
    for (uint64_t pos = 0; pos < 1000; pos++) {
        cr_assert_eq(pick(s, 1, 1, 7, pos), pick(s, 1, 1, 7, pos));
        differ += pick(s, 1, 1, 7, pos) != pick(s, 1, 1, 8, pos);
    }
    cr_assert_gt(differ, 300);
    sampler_destroy(s);
}

Test(sampler, a_tiny_temperature_is_the_likeliest)
{
    struct sampler *s = sampler_create(compute_cpu(), VOCAB);
    for (uint64_t pos = 0; pos < 100; pos++) {
        int32_t token = pick(s, 1e-30F, 1, 3, pos);
        cr_assert(token == 1 || token == 3);
    }
    sampler_destroy(s);
}
