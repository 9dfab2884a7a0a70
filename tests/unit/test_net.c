// The whole model's gradient against finite differences of its loss; shards and moments.
#include <criterion/criterion.h>

#include "common/buf.h"
#include "kernels/train/net.h"
#include "tests/unit/emulated.h"
#include "tests/unit/numbers.h"

static const struct model_config config = {.dim = 16,
                                           .hidden_dim = 24,
                                           .layers = 1,
                                           .heads = 4,
                                           .kv_heads = 2,
                                           .vocab = 11,
                                           .seq_len = 6,
                                           .shared = false};

// The CPU's kernels, but that gradients end here: layer first, then outer.
struct caught {
    float of[2][8192];
    size_t n;
};

static struct caught caught;

static bool catch_gradient(int64_t *sum, const float *g, size_t count)
{
    memcpy(caught.of[caught.n++ % 2], g, count * sizeof *g);
    return true;
}

struct bed {
    struct compute compute;
    struct units units;
    struct comm *comm;
    struct params *params;
    struct net *net;
};

static const int32_t tokens[] = {3, 1, 4, 1, 5, 9, 10};

static void bed_make(struct bed *b, bool shared)
{
    struct model_config c = config;
    c.shared = shared;
    b->compute = *compute_cpu();
    b->compute.fixed_add = catch_gradient;
    b->units = units_of(&c);
    b->comm = comm_self();
    b->params = params_create(&b->units, &b->compute, b->comm, 0);
    b->net = net_create(&b->units, &b->compute);
    // Larger than what training begins with, so that every gradient is well above the noise.
    for (size_t u = 0; u < b->units.n; u++) {
        size_t n = units_get(&b->units, u)->count;
        CLEANUP_FREE float *values = numbers(7 + u, n);
        for (size_t i = 0; i < n; i++)
            values[i] *= 0.5F;
        params_put(b->params, u, PARAMS_VALUE, 0, values, n);
    }
}

static void bed_end(struct bed *b)
{
    net_destroy(b->net);
    params_destroy(b->params);
    comm_destroy(b->comm);
}

static double loss_with(struct bed *b, size_t unit, size_t i, float value)
{
    double loss;
    params_put(b->params, unit, PARAMS_VALUE, i, &value, 1);
    cr_assert_eq(net_sample(b->net, b->params, tokens, true, &loss, NULL), 0);
    return loss;
}

static void check_unit(struct bed *b, size_t unit, const float *gradient)
{
    const float step = 0x1p-7F;
    double most = 0, worst = 0;
    for (size_t i = 0; i < units_get(&b->units, unit)->count; i++) {
        float was = params_get(b->params, unit)[i];
        double up = loss_with(b, unit, i, was + step);
        double down = loss_with(b, unit, i, was - step);
        loss_with(b, unit, i, was);
        double want = (up - down) / (2 * (double)step);
        most = fabs(want) > most ? fabs(want) : most;
        double off = fabs(want - (double)gradient[i]);
        worst = off > worst ? off : worst;
    }
    cr_assert(worst < 2e-3 * most, "unit %zu: %g of %g", unit, worst, most);
}

static void check_gradient(bool shared)
{
    struct bed b;
    double loss;
    bed_make(&b, shared);
    caught.n = 0;
    cr_assert_eq(net_sample(b.net, b.params, tokens, true, &loss, NULL), 0);
    static struct caught first;
    first = caught;
    check_unit(&b, 1, first.of[0]);
    check_unit(&b, 0, first.of[1]);
    bed_end(&b);
}

Test(net, gradient_is_that_of_finite_differences, .timeout = 60)
{
    check_gradient(false);
}

Test(net, gradient_of_a_shared_embedding, .timeout = 60)
{
    check_gradient(true);
}

// Three steps of two samples; the losses, and then the parameters.
static void train(const struct compute *c, int zero, bool shared, double losses[6],
                  struct buf *out)
{
    struct model_config shape = config;
    shape.shared = shared;
    shape.layers = 2;
    struct units units = units_of(&shape);
    struct comm *comm = comm_self();
    struct params *params = params_create(&units, c, comm, zero);
    struct net *net = net_create(&units, c);
    const struct params_step how = {
        .samples = 2,
        .clip = 0.1,
        .adamw = {0.01F, 0.9F, 0.95F, 1e-8F, 0.1F, 1.5F, 2.5F},
    };
    params_init(params, 5);
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(net_sample(net, params, tokens, true, &losses[i], NULL), 0);
        if (i % 2 == 1)
            params_step(params, &how);
    }
    for (size_t u = 0; u < units.n; u++)
        buf_append(out, params_values(params, u),
                   units_get(&units, u)->count * sizeof(float));
    net_destroy(net);
    params_destroy(params);
    comm_destroy(comm);
}

Test(net, the_cuda_kernels_train_to_the_same_bits, .timeout = 60)
{
    for (int zero = 0; zero <= ZERO_MOST; zero++) {
        BUF_AUTO cpu = BUF_INIT, gpu = BUF_INIT;
        double losses[2][6];
        train(compute_cpu(), zero, zero % 2 == 0, losses[0], &cpu);
        train(compute_emulated(), zero, zero % 2 == 0, losses[1], &gpu);
        cr_assert_eq(memcmp(losses[0], losses[1], sizeof losses[0]), 0, "zero %d",
                     zero);
        cr_assert(losses[0][4] < losses[0][0]); // it learnt
        cr_assert_eq(buf_len(&cpu), buf_len(&gpu));
        cr_assert_eq(memcmp(buf_data(&cpu), buf_data(&gpu), buf_len(&cpu)), 0,
                     "zero %d", zero);
    }
}

Test(units, shards_cover_each_float_once)
{
    struct model_config c = config;
    c.dim = 96;
    struct units u = units_of(&c);
    cr_assert_eq(u.outer.count + u.layer.count * (u.n - 1), model_layout_of(&c).count);
    for (size_t ranks = 1; ranks < 9; ranks++) {
        size_t at = 0;
        for (size_t r = 0; r < ranks; r++) {
            struct unit_slice s = unit_slice_of(&u.layer, r, ranks);
            cr_assert_eq(s.at, at);
            cr_assert(s.at % UNIT_BLOCK == 0 || s.n == 0);
            at += s.n;
        }
        cr_assert_eq(at, u.layer.count);
        cr_assert(unit_shard(&u.layer, ranks) * ranks >= u.layer.count);
    }
}
