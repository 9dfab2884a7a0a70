// Norm, RoPE, SwiGLU, softmax, loss, and the step: against doubles, and finite differences.
#include <criterion/criterion.h>

#include "kernels/compute/compute.h"
#include "kernels/model/rope.h"
#include "tests/unit/numbers.h"

enum { ROWS = 3, LEN = 37, ALL = ROWS * LEN };

static void widen(double *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (double)from[i];
}

// d[i] = of f(arg) by x[i], for any x that f reads.
static void differences(double *d, double *x, size_t n, double (*f)(void *), void *arg)
{
    const double step = 1e-6;
    for (size_t i = 0; i < n; i++) {
        double was = x[i];
        x[i] = was + step;
        double up = f(arg);
        x[i] = was - step;
        d[i] = (up - f(arg)) / (2 * step);
        x[i] = was;
    }
}

// ---- norm -------------------------------------------------------------------------

struct norm {
    double x[ALL], w[LEN], y[ALL], dy[ALL];
};

static double norm_of(void *arg)
{
    struct norm *n = arg;
    double sum = 0;
    for (size_t i = 0; i < ROWS; i++) {
        double squares = 0;
        for (size_t j = 0; j < LEN; j++)
            squares += n->x[i * LEN + j] * n->x[i * LEN + j];
        for (size_t j = 0; j < LEN; j++) {
            size_t at = i * LEN + j;
            n->y[at] = n->w[j] * n->x[at] / sqrt(squares / LEN + 1e-5);
            sum += n->y[at] * n->dy[at];
        }
    }
    return sum;
}

static void check_norm(const struct compute *c)
{
    CLEANUP_FREE float *x = numbers(1, ALL), *w = numbers(2, LEN),
                       *dy = numbers(3, ALL), *y = numbers(4, ALL);
    struct norm n;
    double want[ALL];
    float rinv[ROWS], dx[ALL] = {0}, dw[LEN] = {0};
    widen(n.x, x, ALL);
    widen(n.w, w, LEN);
    widen(n.dy, dy, ALL);
    norm_of(&n);
    c->rmsnorm(y, rinv, x, w, ROWS, LEN);
    cr_assert(all_near(y, n.y, ALL, 1e-6));
    c->rmsnorm_back(dx, dw, dy, x, w, rinv, ROWS, LEN);
    differences(want, n.x, ALL, norm_of, &n);
    cr_assert(all_near(dx, want, ALL, 1e-5));
    differences(want, n.w, LEN, norm_of, &n);
    cr_assert(all_near(dw, want, LEN, 1e-5));
}

// ---- SwiGLU -----------------------------------------------------------------------

struct glu {
    double gate[ALL], up[ALL], y[ALL], dy[ALL];
};

static double glu_of(void *arg)
{
    struct glu *g = arg;
    double sum = 0;
    for (size_t i = 0; i < ALL; i++) {
        g->y[i] = g->gate[i] / (1 + exp(-g->gate[i])) * g->up[i];
        sum += g->y[i] * g->dy[i];
    }
    return sum;
}

static void check_glu(const struct compute *c)
{
    CLEANUP_FREE float *gate = numbers(1, ALL), *up = numbers(2, ALL),
                       *dy = numbers(3, ALL), *y = numbers(4, ALL);
    struct glu g;
    double want[ALL];
    float dgate[ALL], dup[ALL];
    for (size_t i = 0; i < ALL; i++)
        gate[i] *= 20;
    widen(g.gate, gate, ALL);
    widen(g.up, up, ALL);
    widen(g.dy, dy, ALL);
    glu_of(&g);
    c->swiglu(y, gate, up, ALL);
    cr_assert(all_near(y, g.y, ALL, 1e-6));
    c->swiglu_back(dgate, dup, dy, gate, up, ALL);
    differences(want, g.gate, ALL, glu_of, &g);
    cr_assert(all_near(dgate, want, ALL, 1e-5));
    differences(want, g.up, ALL, glu_of, &g);
    cr_assert(all_near(dup, want, ALL, 1e-5));
}

// ---- loss -------------------------------------------------------------------------

struct loss {
    double x[ALL];
    int32_t targets[ROWS];
};

static double loss_of(void *arg)
{
    struct loss *l = arg;
    double total = 0;
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0;
        for (size_t j = 0; j < LEN; j++)
            sum += exp(l->x[i * LEN + j]);
        total += log(sum) - l->x[i * LEN + (size_t)l->targets[i]];
    }
    return total;
}

static void check_loss(const struct compute *c)
{
    CLEANUP_FREE float *x = numbers(1, ALL), *p = numbers(1, ALL);
    struct loss l = {.targets = {0, 36, 8}};
    double want[ALL];
    for (size_t i = 0; i < ALL; i++)
        p[i] = x[i] *= 10;
    widen(l.x, x, ALL);
    double loss = c->cross_entropy(x, l.targets, ROWS, LEN, 1);
    cr_assert_float_eq(loss, loss_of(&l), 1e-5);
    differences(want, l.x, ALL, loss_of, &l);
    cr_assert(all_near(x, want, ALL, 1e-5));
    // softmax is the same gradient with 1 more at the targets
    for (size_t i = 0; i < ROWS; i++)
        want[i * LEN + (size_t)l.targets[i]] += 1;
    c->softmax(p, ROWS, LEN);
    cr_assert(all_near(p, want, ALL, 1e-5));
}

Test(pointwise, near_doubles_and_finite_differences)
{
    const struct compute *both[] = {compute_cpu(), compute_portable()};
    for (int i = 0; i < 2; i++) {
        check_norm(both[i]);
        check_glu(both[i]);
        check_loss(both[i]);
    }
}

// ---- bits -------------------------------------------------------------------------

// A step with these numbers, whose results take the place of p, m and v.
static void run_step(const struct compute *c, float *p, float *m, float *v)
{
    const struct compute_adamw how = {.lr = 0.01F,
                                      .beta1 = 0.9F,
                                      .beta2 = 0.95F,
                                      .eps = 1e-8F,
                                      .decay = 0.1F,
                                      .correct1 = 1.5F,
                                      .correct2 = 2.5F};
    CLEANUP_FREE float *g = numbers(4, ALL);
    for (size_t i = 0; i < ALL; i++)
        v[i] *= v[i];
    c->adamw(p, m, v, g, 0.3F, ALL, &how);
}

// Everything of one build, one after the other, into out[ALL * 6].
static void run_all(const struct compute *c, float *out)
{
    enum { HEADS = 3, HEAD_DIM = 12 };
    CLEANUP_FREE float *x = numbers(1, ALL), *w = numbers(2, ALL),
                       *dy = numbers(3, ALL);
    const int32_t targets[ROWS] = {1, 2, 36};
    float rinv[ROWS], table[ROWS * HEAD_DIM];
    memset(out, 0, 6 * ALL * sizeof *out);
    c->rmsnorm(out, rinv, x, w, ROWS, LEN);
    c->rmsnorm_back(out + ALL, out + 2 * ALL, dy, x, w, rinv, ROWS, LEN);
    c->swiglu(out + 3 * ALL, x, w, ALL);
    c->swiglu_back(out + 4 * ALL, out + 5 * ALL, dy, x, w, ALL);
    c->add(out, out + 3 * ALL, ALL);
    c->softmax(out, ROWS, LEN);
    out[ALL] += (float)c->cross_entropy(out + 4 * ALL, targets, ROWS, LEN, 0.5F);
    rope_table(table, ROWS, HEAD_DIM);
    c->rope(out + 5 * ALL, table, 0, ROWS, HEADS, HEAD_DIM);
    c->rope_back(out + 3 * ALL, table, 0, ROWS, HEADS, HEAD_DIM);
    run_step(c, out, out + ALL, out + 2 * ALL);
}

Test(pointwise, both_builds_give_the_same_bits)
{
    float a[6 * ALL], b[6 * ALL];
    run_all(compute_cpu(), a);
    run_all(compute_portable(), b);
    cr_assert(same_bits(a, b, 6 * ALL));
}

Test(pointwise, a_row_is_the_same_alone)
{
    const struct compute *c = compute_cpu();
    CLEANUP_FREE float *x = numbers(1, ALL), *w = numbers(2, LEN);
    float all[ALL], rinv[ROWS];
    c->rmsnorm(all, rinv, x, w, ROWS, LEN);
    c->softmax(all, ROWS, LEN);
    for (size_t i = 0; i < ROWS; i++) {
        float one[LEN];
        c->rmsnorm(one, rinv, x + i * LEN, w, 1, LEN);
        c->softmax(one, 1, LEN);
        cr_assert(same_bits(one, all + i * LEN, LEN));
    }
}

// ---- RoPE -------------------------------------------------------------------------

Test(rope, turns_by_the_position_and_back)
{
    enum { POS = 100, N = 5, HEADS = 2, DIM = 8, COUNT = N * HEADS * DIM };
    const struct compute *c = compute_cpu();
    CLEANUP_FREE float *x = numbers(1, COUNT), *was = numbers(1, COUNT);
    float table[(POS + N) * DIM];
    double want[COUNT], back[COUNT];
    for (size_t i = 0; i < COUNT; i += 2) {
        size_t pos = POS + i / (HEADS * DIM), d = i % DIM;
        double angle = (double)pos * pow(10000, -(double)d / DIM);
        want[i] = (double)was[i] * cos(angle) - (double)was[i + 1] * sin(angle);
        want[i + 1] = (double)was[i] * sin(angle) + (double)was[i + 1] * cos(angle);
    }
    rope_table(table, POS + N, DIM);
    c->rope(x, table, POS, N, HEADS, DIM);
    cr_assert(all_near(x, want, COUNT, 1e-6));
    c->rope_back(x, table, POS, N, HEADS, DIM);
    widen(back, was, COUNT);
    cr_assert(all_near(x, back, COUNT, 1e-6));
}

// ---- embedding --------------------------------------------------------------------

Test(embedding, rows_there_and_back)
{
    const struct compute *c = compute_cpu();
    CLEANUP_FREE float *table = numbers(1, 5 * LEN);
    const int32_t tokens[ROWS] = {4, 0, 4};
    float y[ALL], dtable[5 * LEN] = {0};
    c->embed(y, table, tokens, ROWS, LEN);
    for (size_t i = 0; i < ROWS; i++)
        cr_assert(same_bits(y + i * LEN, table + (size_t)tokens[i] * LEN, LEN));
    c->embed_back(dtable, y, tokens, ROWS, LEN);
    for (size_t j = 0; j < LEN; j++) {
        cr_assert_eq(dtable[4 * LEN + j], table[4 * LEN + j] * 2);
        cr_assert_eq(dtable[LEN + j], 0);
    }
}

// ---- the step ---------------------------------------------------------------------

Test(step, fixed_add_is_exact)
{
    const struct compute *both[] = {compute_cpu(), compute_portable()};
    const float g[] = {0, 1, -1, 0x1p-40F, 0x1p-41F, 0x1.8p-40F, -1023.5F, 1e-30F};
    const int64_t unit = INT64_C(1) << COMPUTE_FIXED_BITS;
    const int64_t want[] = {0, unit, -unit, 1, 0, 2, -1023 * unit - unit / 2, 0};
    enum { N = sizeof g / sizeof *g };
    for (int b = 0; b < 2; b++) {
        int64_t sum[N] = {0};
        cr_assert(both[b]->fixed_add(sum, g, N));
        for (size_t i = 0; i < N; i++)
            cr_assert_eq(sum[i], want[i], "%zu", i);
        cr_assert(both[b]->fixed_add(sum, g, N));
        cr_assert_eq(sum[6], 2 * want[6]);
    }
}

Test(step, what_is_no_gradient_is_refused)
{
    const float bad[] = {1024, -1e30F, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t sum[20] = {0};
        float g[20] = {0};
        g[i * 5] = bad[i];
        cr_assert_not(compute_cpu()->fixed_add(sum, g, 20));
        cr_assert_not(compute_portable()->fixed_add(sum, g, 20));
    }
}

Test(step, adamw_is_the_paper_s)
{
    enum { N = 21, STEPS = 3 };
    const double beta1 = 0.9, beta2 = 0.95, lr = 0.01, decay = 0.1, scale = 0.5;
    float p[N], m[N] = {0}, v[N] = {0};
    double want[N], wm[N] = {0}, wv[N] = {0};
    CLEANUP_FREE float *first = numbers(1, N);
    memcpy(p, first, sizeof p);
    widen(want, first, N);
    for (int step = 1; step <= STEPS; step++) {
        CLEANUP_FREE float *g = numbers(10 + (uint64_t)step, N);
        const struct compute_adamw how = {
            .lr = 0.01F,
            .beta1 = 0.9F,
            .beta2 = 0.95F,
            .eps = 1e-8F,
            .decay = 0.1F,
            .correct1 = (float)(1 / (1 - pow(beta1, step))),
            .correct2 = (float)(1 / (1 - pow(beta2, step))),
        };
        compute_cpu()->adamw(p, m, v, g, (float)scale, N, &how);
        for (size_t i = 0; i < N; i++) {
            double grad = (double)g[i] * scale;
            wm[i] = beta1 * wm[i] + (1 - beta1) * grad;
            wv[i] = beta2 * wv[i] + (1 - beta2) * grad * grad;
            double mhat = wm[i] / (1 - pow(beta1, step)),
                   vhat = wv[i] / (1 - pow(beta2, step));
            want[i] -= lr * (mhat / (sqrt(vhat) + 1e-8) + decay * want[i]);
        }
    }
    cr_assert(all_near(p, want, N, 1e-5));
}
