// The CUDA back end's kernels, run block by block on the CPU: bit for bit what the CPU's give.
// With MUSTER_TEST_GPU set they run on the GPU (kernels/gpu-session.sh).
#include <criterion/criterion.h>

#include "common/err.h"
#include "kernels/compute/compute.h"
#include "tests/unit/emulated.h"
#include "tests/unit/numbers.h"

static const struct compute *gpu(void)
{
    ERR_AUTO err = ERR_INIT;
    if (getenv("MUSTER_TEST_GPU") == NULL)
        return compute_emulated();
    const struct compute *c = compute_cuda(0, &err);
    cr_assert_not_null(c, "%s", err_text(&err));
    return c;
}

// A buffer that both back ends have, with the same numbers in it.
struct both {
    size_t n;
    float *cpu, *gpu;
};

static struct both both(uint64_t seed, size_t n, float size)
{
    struct both b = {n, numbers(seed, n), gpu()->alloc(n * sizeof(float))};
    for (size_t i = 0; i < n; i++)
        b.cpu[i] *= size;
    gpu()->put(b.gpu, b.cpu, n * sizeof(float));
    return b;
}

static void drop(struct both *b)
{
    free(b->cpu);
    gpu()->free(b->gpu);
}

#define BOTH __attribute__((cleanup(drop))) struct both

static void check_same(const struct both *b, const char *what, size_t a, size_t c)
{
    CLEANUP_FREE float *is = xcalloc(b->n, sizeof *is);
    gpu()->get(is, b->gpu, b->n * sizeof *is);
    for (size_t i = 0; i < b->n; i++)
        cr_assert(same_bits(is + i, b->cpu + i, 1),
                  "%s (%zu, %zu), element %zu: %a, not %a", what, a, c, i,
                  (double)is[i], (double)b->cpu[i]);
}

// ---- products ---------------------------------------------------------------------

struct shape {
    size_t n, in, out;
};

// Edges of tiles and steps, one less and one more, and single rows.
static const struct shape shapes[] = {{1, 1, 1},    {1, 40, 70},  {64, 16, 64},
                                      {63, 15, 65}, {65, 17, 63}, {3, 100, 130},
                                      {130, 33, 2}};

static void check_products(const struct shape *s)
{
    const struct compute *c = compute_cpu(), *g = gpu();
    size_t n = s->n, in = s->in, out = s->out;
    BOTH x = both(1, n * in, 1), w = both(2, out * in, 1), dy = both(3, n * out, 1);
    BOTH y = both(4, n * out, 1), dx = both(5, n * in, 1), dw = both(6, out * in, 1);
    c->matmul(y.cpu, x.cpu, w.cpu, n, in, out);
    g->matmul(y.gpu, x.gpu, w.gpu, n, in, out);
    check_same(&y, "y", n, in);
    c->matmul_dx(dx.cpu, dy.cpu, w.cpu, n, in, out);
    g->matmul_dx(dx.gpu, dy.gpu, w.gpu, n, in, out);
    check_same(&dx, "dx", n, in);
    c->matmul_dw(dw.cpu, dy.cpu, x.cpu, n, in, out);
    g->matmul_dw(dw.gpu, dy.gpu, x.gpu, n, in, out);
    check_same(&dw, "dw", n, in);
}

Test(gpu_compute, products)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_products(&shapes[i]);
}

// 0 * 0 added to -0 would make +0 of it.
Test(gpu_compute, a_chain_of_minus_zero_stays)
{
    const struct compute *g = gpu();
    float zero = 0, minus = -0.0F, one = 1, is = 0;
    float *dx = g->alloc(4), *dy = g->alloc(4), *w = g->alloc(4);
    g->put(dx, &minus, 4);
    g->put(dy, &minus, 4);
    g->put(w, &one, 4);
    g->matmul_dx(dx, dy, w, 1, 1, 1);
    g->get(&is, dx, 4);
    cr_assert(same_bits(&is, &minus, 1));
    g->put(dy, &zero, 4);
    g->matmul_dx(dx, dy, w, 1, 1, 1);
    g->get(&is, dx, 4);
    cr_assert(same_bits(&is, &zero, 1));
    g->free(dx);
    g->free(dy);
    g->free(w);
}

// ---- rows -------------------------------------------------------------------------

// Less and more than the lanes, than the vectors, than a block's threads.
static const size_t lengths[] = {1, 15, 16, 37, 256, 700};
enum { ROWS = 5, LENGTHS = sizeof lengths / sizeof *lengths };

Test(gpu_compute, norm)
{
    const struct compute *c = compute_cpu(), *g = gpu();
    for (size_t i = 0; i < LENGTHS; i++) {
        size_t len = lengths[i], all = ROWS * len;
        BOTH x = both(1, all, 3), w = both(2, len, 1), dy = both(3, all, 1);
        BOTH y = both(4, all, 1), r = both(5, ROWS, 1);
        BOTH dx = both(6, all, 1), dw = both(7, len, 1);
        c->rmsnorm(y.cpu, r.cpu, x.cpu, w.cpu, ROWS, len);
        g->rmsnorm(y.gpu, r.gpu, x.gpu, w.gpu, ROWS, len);
        check_same(&y, "norm", len, 0);
        check_same(&r, "its factors", len, 0);
        c->rmsnorm_back(dx.cpu, dw.cpu, dy.cpu, x.cpu, w.cpu, r.cpu, ROWS, len);
        g->rmsnorm_back(dx.gpu, dw.gpu, dy.gpu, x.gpu, w.gpu, r.gpu, ROWS, len);
        check_same(&dx, "norm's dx", len, 0);
        check_same(&dw, "norm's dw", len, 0);
        c->rmsnorm(x.cpu, r.cpu, x.cpu, w.cpu, ROWS, len);
        g->rmsnorm(x.gpu, r.gpu, x.gpu, w.gpu, ROWS, len);
        check_same(&x, "norm in place", len, 0);
    }
}

Test(gpu_compute, softmax_and_loss)
{
    const struct compute *c = compute_cpu(), *g = gpu();
    for (size_t i = 0; i < LENGTHS; i++) {
        size_t len = lengths[i];
        int32_t targets[ROWS];
        for (size_t r = 0; r < ROWS; r++)
            targets[r] = (int32_t)(r * 7919 % len);
        // 200: beyond where exp is cut off
        BOTH x = both(1, ROWS * len, 200), l = both(2, ROWS * len, 20);
        c->softmax(x.cpu, ROWS, len);
        g->softmax(x.gpu, ROWS, len);
        check_same(&x, "softmax", len, 0);
        double want = c->cross_entropy(l.cpu, targets, ROWS, len, 0.3F);
        double is = g->cross_entropy(l.gpu, targets, ROWS, len, 0.3F);
        cr_assert_eq(memcmp(&is, &want, sizeof is), 0, "loss (%zu): %a, not %a", len,
                     is, want);
        check_same(&l, "loss's gradient", len, 0);
    }
}

// ---- attention --------------------------------------------------------------------

static void check_attention(size_t pos, size_t n, size_t heads, size_t kv, size_t dim)
{
    const struct compute *c = compute_cpu(), *g = gpu();
    const struct compute_attention shape = {.n = n,
                                            .pos = pos,
                                            .heads = heads,
                                            .kv_heads = kv,
                                            .head_dim = dim,
                                            .stride = pos + n + 3};
    size_t all = n * heads * dim, cache = (pos + n) * kv * dim;
    BOTH q = both(1, all, 2), k = both(2, cache, 2), v = both(3, cache, 1);
    BOTH out = both(4, all, 1), probs = both(5, heads * n * shape.stride, 1);
    c->attention(out.cpu, probs.cpu, q.cpu, k.cpu, v.cpu, &shape);
    g->attention(out.gpu, probs.gpu, q.gpu, k.gpu, v.gpu, &shape);
    check_same(&out, "attention", pos, n);
    check_same(&probs, "probabilities", pos, n);
    if (pos > 0)
        return;
    BOTH dq = both(6, all, 1), dk = both(7, cache, 1), dv = both(8, cache, 1);
    BOTH dout = both(9, all, 1), scratch = both(10, shape.stride, 1);
    c->attention_back(dq.cpu, dk.cpu, dv.cpu, dout.cpu, probs.cpu, q.cpu, k.cpu, v.cpu,
                      scratch.cpu, &shape);
    g->attention_back(dq.gpu, dk.gpu, dv.gpu, dout.gpu, probs.gpu, q.gpu, k.gpu, v.gpu,
                      scratch.gpu, &shape);
    check_same(&dq, "dq", pos, n);
    check_same(&dk, "dk", pos, n);
    check_same(&dv, "dv", pos, n);
}

Test(gpu_compute, attention)
{
    check_attention(0, 1, 1, 1, 2);
    check_attention(0, 19, 4, 2, 10);
    check_attention(0, 33, 6, 2, 32);
    check_attention(0, 18, 2, 2, 48);
    check_attention(5, 7, 4, 1, 24);
    check_attention(300, 1, 4, 2, 16); // a decoded token
}

// ---- elements ---------------------------------------------------------------------

Test(gpu_compute, swiglu_and_add)
{
    const struct compute *c = compute_cpu(), *g = gpu();
    for (size_t i = 0; i < LENGTHS; i++) {
        size_t n = lengths[i];
        BOTH gate = both(1, n, 100), up = both(2, n, 1), y = both(3, n, 1);
        BOTH dgate = both(4, n, 1), dup = both(5, n, 1);
        c->swiglu(y.cpu, gate.cpu, up.cpu, n);
        g->swiglu(y.gpu, gate.gpu, up.gpu, n);
        check_same(&y, "swiglu", n, 0);
        c->swiglu_back(dgate.cpu, dup.cpu, y.cpu, gate.cpu, up.cpu, n);
        g->swiglu_back(dgate.gpu, dup.gpu, y.gpu, gate.gpu, up.gpu, n);
        check_same(&dgate, "dgate", n, 0);
        check_same(&dup, "dup", n, 0);
        c->swiglu_back(y.cpu, dup.cpu, y.cpu, gate.cpu, up.cpu, n);
        g->swiglu_back(y.gpu, dup.gpu, y.gpu, gate.gpu, up.gpu, n);
        check_same(&y, "dgate in place", n, 0);
        c->add(y.cpu, up.cpu, n);
        g->add(y.gpu, up.gpu, n);
        check_same(&y, "add", n, 0);
    }
}

Test(gpu_compute, rope)
{
    enum { POS = 9, N = 6, HEADS = 3, DIM = 10 };
    const struct compute *c = compute_cpu(), *g = gpu();
    BOTH x = both(1, N * HEADS * DIM, 1), table = both(2, (POS + N) * DIM, 1);
    c->rope(x.cpu, table.cpu, POS, N, HEADS, DIM);
    g->rope(x.gpu, table.gpu, POS, N, HEADS, DIM);
    check_same(&x, "rope", N, HEADS);
    c->rope_back(x.cpu, table.cpu, POS, N, HEADS, DIM);
    g->rope_back(x.gpu, table.gpu, POS, N, HEADS, DIM);
    check_same(&x, "rope back", N, HEADS);
}

Test(gpu_compute, embedding)
{
    enum { WORDS = 9, N = 7, DIM = 300 };
    const struct compute *c = compute_cpu(), *g = gpu();
    const int32_t tokens[N] = {8, 0, 3, 3, 8, 3, 1};
    BOTH table = both(1, WORDS * DIM, 1), y = both(2, N * DIM, 1);
    c->embed(y.cpu, table.cpu, tokens, N, DIM);
    g->embed(y.gpu, table.gpu, tokens, N, DIM);
    check_same(&y, "embedding", N, DIM);
    c->embed_back(table.cpu, y.cpu, tokens, N, DIM);
    g->embed_back(table.gpu, y.gpu, tokens, N, DIM);
    check_same(&table, "its gradient", N, DIM);
}

// ---- the step ---------------------------------------------------------------------

Test(gpu_compute, adamw)
{
    const struct compute_adamw how = {0.01F, 0.9F, 0.95F, 1e-8F, 0.1F, 1.5F, 2.5F};
    enum { N = 700 };
    BOTH p = both(1, N, 1), m = both(2, N, 1), v = both(3, N, 1), d = both(4, N, 1);
    for (size_t i = 0; i < N; i++)
        v.cpu[i] *= v.cpu[i];
    gpu()->put(v.gpu, v.cpu, N * sizeof(float));
    compute_cpu()->adamw(p.cpu, m.cpu, v.cpu, d.cpu, 0.3F, N, &how);
    gpu()->adamw(p.gpu, m.gpu, v.gpu, d.gpu, 0.3F, N, &how);
    check_same(&p, "adamw", N, 0);
    check_same(&m, "its m", N, 0);
    check_same(&v, "its v", N, 0);
}

Test(gpu_compute, fixed_point)
{
    enum { N = 300 };
    const struct compute *c = compute_cpu(), *g = gpu();
    BOTH d = both(1, N, 1000);
    int64_t want[N] = {0}, is[N];
    int64_t *sum = g->alloc(sizeof want);
    for (int turn = 0; turn < 2; turn++) {
        cr_assert(c->fixed_add(want, d.cpu, N));
        cr_assert(g->fixed_add(sum, d.gpu, N));
    }
    g->get(is, sum, sizeof is);
    cr_assert_eq(memcmp(is, want, sizeof is), 0);
    const float bad[] = {1024, -1e30F, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        g->put(d.gpu + 70 * i, &bad[i], sizeof bad[i]);
        cr_assert_not(g->fixed_add(sum, d.gpu, N));
        g->put(d.gpu, d.cpu, N * sizeof(float));
    }
    g->free(sum);
}

// What is not the same bit by bit fails, so do sums that have to wrap around.
Test(gpu_compute, sums_of_integers_and_of_squares)
{
    enum { BLOCKS = 3, BLOCK = 100, N = BLOCKS * BLOCK };
    const struct compute *c = compute_cpu(), *g = gpu();
    BOTH d = both(1, N, 30);
    int64_t sum[N] = {0}, part[N], is[N];
    double squares[BLOCKS], told[BLOCKS];
    float want[N], got[N];
    int64_t *a = g->alloc(sizeof sum), *b = g->alloc(sizeof part);
    double *s = g->alloc(sizeof squares);
    c->fixed_add(sum, d.cpu, N);
    for (size_t i = 0; i < N; i++)
        part[i] = (int64_t)(i * UINT64_C(0x9e3779b97f4a7c15));
    part[0] = sum[0] = INT64_MAX;
    g->put(a, sum, sizeof sum);
    g->put(b, part, sizeof part);
    c->add_i64(sum, part, N);
    g->add_i64(a, b, N);
    g->get(is, a, sizeof is);
    cr_assert_eq(memcmp(is, sum, sizeof is), 0);
    cr_assert_eq(sum[0], -2);
    c->fixed_scale(want, sum, 0x1p-40 / 3, N);
    g->fixed_scale(d.gpu, a, 0x1p-40 / 3, N);
    g->get(got, d.gpu, sizeof got);
    cr_assert(same_bits(got, want, N));
    c->squares(squares, want, BLOCKS, BLOCK);
    g->squares(s, d.gpu, BLOCKS, BLOCK);
    g->get(told, s, sizeof told);
    cr_assert_eq(memcmp(told, squares, sizeof told), 0);
    g->free(a);
    g->free(b);
    g->free(s);
}

Test(gpu_compute, rows_of_one_stride_to_another)
{
    enum { LINES = 5, FROM = 11, TO = 17, COLS = 9 };
    const struct compute *c = compute_cpu(), *g = gpu();
    BOTH x = both(1, LINES * FROM, 1), y = both(2, LINES * TO, 1);
    c->copy_rows(y.cpu + 3, TO * sizeof(float), x.cpu, FROM * sizeof(float), LINES,
                 COLS * sizeof(float));
    g->copy_rows(y.gpu + 3, TO * sizeof(float), x.gpu, FROM * sizeof(float), LINES,
                 COLS * sizeof(float));
    check_same(&y, "rows", LINES, 0);
    cr_assert_eq(y.cpu[TO + 3], x.cpu[FROM]);
}
