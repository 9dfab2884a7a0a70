// gpucheck's scalar kernels, run through the emulation: what they compute, and that they
// find what is planted.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/check/gpu_kernels.h"

enum { PAIRS = 4099, BLOCKS = 13, THREADS = 32, SEED = 11 };

// Memory as four passes find it; a bit is flipped before the pass `when` (0: never).
static unsigned march(struct gpu_pair *at, unsigned when, size_t struck,
                      struct gpu_wrong *wrong)
{
    memset(wrong, 0, sizeof *wrong);
    GPU_EMU_LAUNCH(BLOCKS, THREADS, gpu_write(at, PAIRS, SEED, 0));
    for (unsigned pass = 2; pass <= 4; pass++) {
        if (pass == when)
            at[struck].b ^= 1u << 9;
        GPU_EMU_LAUNCH(BLOCKS, THREADS,
                       gpu_march(at, PAIRS, SEED, pass == 3 ? UINT64_MAX : 0, pass < 4,
                                 pass == 3, wrong));
        if (wrong->count != 0)
            return pass;
    }
    return 0;
}

Test(gpu_kernels, the_march_finds_a_flipped_bit_in_each_pass)
{
    struct gpu_pair *at = xcalloc(PAIRS, sizeof *at);
    struct gpu_wrong wrong;
    cr_assert_eq(march(at, 0, 0, &wrong), 0);
    for (unsigned when = 2; when <= 4; when++) {
        size_t struck = 997 * when;
        cr_assert_eq(march(at, when, struck, &wrong), when);
        cr_assert_eq(wrong.count, 1);
        cr_assert_eq(wrong.place, struck * 16 + 8);
        cr_assert_eq(wrong.expected ^ wrong.got, 1u << 9);
        size_t thread = when == 3 ? PAIRS - 1 - struck : struck;
        cr_assert_eq(wrong.sm, thread / THREADS % BLOCKS % 7);
    }
    free(at);
}

Test(gpu_kernels, a_wrong_address_line_shows)
{
    struct gpu_pair *at = xcalloc(PAIRS, sizeof *at);
    struct gpu_wrong wrong = {0};
    GPU_EMU_LAUNCH(BLOCKS, THREADS, gpu_write(at, PAIRS, SEED, 0));
    at[64] = at[0]; // as if bit 10 of the address were always 0
    GPU_EMU_LAUNCH(BLOCKS, THREADS,
                   gpu_march(at, PAIRS, SEED, 0, false, false, &wrong));
    cr_assert_eq(wrong.count, 2);
    cr_assert_eq(wrong.place, 1024);
    free(at);
}

Test(gpu_kernels, the_copy_is_whole_and_a_flipped_bit_is_found)
{
    struct gpu_pair *from = xcalloc(PAIRS, sizeof *from);
    struct gpu_pair *to = xcalloc(PAIRS, sizeof *to);
    struct gpu_wrong wrong = {0};
    GPU_EMU_LAUNCH(BLOCKS, THREADS, gpu_write(from, PAIRS, SEED, 0));
    GPU_EMU_LAUNCH(BLOCKS, THREADS, gpu_copy(to, from, PAIRS));
    cr_assert_eq(memcmp(from, to, PAIRS * sizeof *to), 0);
    to[4098].a ^= 1;
    GPU_EMU_LAUNCH(BLOCKS, THREADS,
                   gpu_march(to, PAIRS, SEED, 0, false, false, &wrong));
    cr_assert_eq(wrong.count, 1);
    cr_assert_eq(wrong.place, 4098 * 16);
    free(from);
    free(to);
}

Test(gpu_kernels, halves_are_exact_for_all_values_that_occur)
{
    for (int kind = GPU_BF16; kind <= GPU_FP16; kind++) {
        for (int v = -63; v <= 63; v++) {
            for (int e = -4; e <= 3; e++) {
                float x = (float)v * (e < 0 ? 1 / (float)(1 << -e) : (float)(1 << e));
                uint16_t half = gpu_to_16((enum gpu_kind)kind, x);
                cr_assert_float_eq(gpu_from_16((enum gpu_kind)kind, half), x, 0);
            }
        }
    }
    cr_assert_eq(gpu_to_16(GPU_FP16, 1.0f), 0x3c00);
    cr_assert_eq(gpu_to_16(GPU_FP16, -2.5f), 0xc100);
    cr_assert_eq(gpu_to_16(GPU_BF16, 1.0f), 0x3f80);
}

struct matrices {
    void *a, *b;
    float *c;
    struct gpu_tables tables;
    unsigned sm_of_tile[GPU_TILES * GPU_TILES];
};

static struct matrices *filled(enum gpu_kind kind)
{
    struct matrices *m = xcalloc(1, sizeof *m);
    m->a = xcalloc((size_t)GPU_N * GPU_N, 4);
    m->b = xcalloc((size_t)GPU_N * GPU_N, 4);
    m->c = xcalloc((size_t)GPU_N * GPU_N, 4);
    gpu_draw(&m->tables, kind, SEED);
    GPU_EMU_LAUNCH(8, 256, gpu_fill(kind, m->a, m->b, m->c, &m->tables));
    return m;
}

static void release(struct matrices *m)
{
    free(m->a);
    free(m->b);
    free(m->c);
    free(m);
}

// Some tiles only: a product of this size takes a CPU long.
static void multiply_some(enum gpu_kind kind, struct matrices *m)
{
    gridDim.x = GPU_TILES * GPU_TILES;
    blockDim.x = GPU_TILE * GPU_TILE;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x += 129)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
            gpu_multiply(kind, m->a, m->b, m->c, m->sm_of_tile);
}

Test(gpu_kernels, each_element_that_is_computed_is_what_is_expected)
{
    for (int kind = 0; kind < GPU_KINDS; kind++) {
        struct matrices *m = filled((enum gpu_kind)kind);
        unsigned exact = 0;
        multiply_some((enum gpu_kind)kind, m);
        for (unsigned tile = 0; tile < GPU_TILES * GPU_TILES; tile += 129) {
            for (unsigned k = 0; k < GPU_TILE * GPU_TILE; k++) {
                unsigned row = tile / GPU_TILES * GPU_TILE + k / GPU_TILE;
                unsigned column = tile % GPU_TILES * GPU_TILE + k % GPU_TILE;
                exact +=
                    m->c[row * GPU_N + column] == gpu_expected(&m->tables, row, column);
            }
            cr_assert_eq(m->sm_of_tile[tile], tile % 7);
        }
        cr_assert_eq(exact, 32 * GPU_TILE * GPU_TILE);
        release(m);
    }
}

Test(gpu_kernels, a_flipped_bit_in_a_product_is_found_with_its_multiprocessor)
{
    struct matrices *m = filled(GPU_FP32);
    struct gpu_wrong wrong = {0};
    for (unsigned i = 0; i < GPU_N * GPU_N; i++)
        m->c[i] = gpu_expected(&m->tables, i / GPU_N, i % GPU_N);
    m->sm_of_tile[3 * GPU_TILES + 2] = 5;
    GPU_EMU_LAUNCH(8, 256, gpu_verify(m->c, &m->tables, m->sm_of_tile, &wrong));
    cr_assert_eq(wrong.count, 0);
    unsigned struck = 50 * GPU_N + 40; // tile 3, 2
    m->c[struck] = gpu_float_of(gpu_float_bits(m->c[struck]) ^ 1);
    GPU_EMU_LAUNCH(8, 256, gpu_verify(m->c, &m->tables, m->sm_of_tile, &wrong));
    cr_assert_eq(wrong.count, 1);
    cr_assert_eq(wrong.place, struck);
    cr_assert_eq(wrong.sm, 5);
    cr_assert_eq(wrong.expected ^ wrong.got, 1);
    release(m);
}

Test(gpu_kernels, what_was_not_computed_is_wrong)
{
    struct matrices *m = filled(GPU_BF16);
    struct gpu_wrong wrong = {0};
    GPU_EMU_LAUNCH(8, 256, gpu_verify(m->c, &m->tables, m->sm_of_tile, &wrong));
    cr_assert_eq(wrong.count, GPU_N * GPU_N);
    release(m);
}
