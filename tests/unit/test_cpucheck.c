// cpucheck finds bits that are flipped from outside while it runs: in memory, in a copy, in
// a product.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_bed.h"
#include "common/mem.h"
#include "kernels/check/march.h"
#include "kernels/check/pattern.h"
#include "kernels/check/product.h"

enum { MIB = 64, BYTES = MIB << 20, WORDS = BYTES / 8, SEED = 7, TRIES = 20 };

static uint64_t pattern_at(struct check_bed *b, uint64_t seed, uint64_t index)
{
    return pattern_word(seed, b->at + index * 8);
}

// Each injection looks at the stopped worker's memory, and strikes only where what it
// changes has yet to be verified. False: not now.
typedef bool (*strike)(struct check_bed *b);

// Steps until the strike was made; starts anew where the moment was missed.
static void run_and_strike(struct check_bed *b, const char *rounds, strike strike_at)
{
    const char *const options[] = {"--memory", "64M",        "--seed", "7", "--rounds",
                                   rounds,     "--deadline", "50",     NULL};
    for (int i = 0; i < TRIES; i++) {
        int code;
        check_bed_start(b, "cpucheck", options);
        while (check_bed_stop(b, BYTES)) {
            if (strike_at(b)) {
                check_bed_go(b);
                return;
            }
            check_bed_step(b);
        }
        json_decref(check_bed_end(b, &code));
        cr_assert_eq(code, 0, "it found what nobody planted");
    }
    cr_assert_fail("the moment was missed %d times", TRIES);
}

// 1: the pattern, -1: inverted, 0: neither.
static int state_of(struct check_bed *b, uint64_t index)
{
    uint64_t word = check_bed_word(b, index), h = pattern_at(b, SEED, index);
    return word == h ? 1 : word == ~h ? -1 : 0;
}

enum { STRUCK = WORDS / 4 + 77, NEAR = 2 * MARCH_BLOCK };

// In pass 1, 2 or 3, and the march is not just at that word.
static bool strike_memory(struct check_bed *b)
{
    int first = state_of(b, 0), last = state_of(b, WORDS - 1),
        here = state_of(b, STRUCK);
    bool early = (first == 1 && last == 0) || first == -1;
    if (!early || here == 0 || state_of(b, STRUCK - NEAR) != here ||
        state_of(b, STRUCK + NEAR) != here)
        return false;
    check_bed_flip(b, (uint64_t)STRUCK * 8 + 2, 0x10);
    return true;
}

static void check_words(json_t *said, struct check_bed *b, const char *in,
                        uint64_t index, const char *differs)
{
    CLEANUP_FREE char *address =
        xasprintf("0x%016llx", (unsigned long long)(b->at + index * 8));
    cr_assert_str_eq(json_string_value(json_object_get(said, "verdict")), "fail");
    cr_assert_str_eq(check_bed_text(said, "in"), in);
    cr_assert_str_eq(check_bed_text(said, "address"), address);
    cr_assert_str_eq(check_bed_text(said, "differs"), differs);
    cr_assert_str_eq(check_bed_text(said, "again"), check_bed_text(said, "got"));
    cr_assert_eq(check_bed_number(said, "count"), 1);
    cr_assert_geq(check_bed_number(said, "core"), 0);
}

Test(cpucheck, finds_a_bit_flipped_in_memory, .timeout = 200)
{
    struct check_bed b;
    int code;
    run_and_strike(&b, "1", strike_memory);
    json_t *said = check_bed_end(&b, &code);
    cr_assert_eq(code, 1);
    check_words(said, &b, "march", STRUCK, "0x0000000000100000");
    json_decref(said);
}

enum { HALF = WORDS / 2, COPIED = HALF + 8 };

// A copy has begun, is beyond the word, and is not at its end.
static bool strike_copy(struct check_bed *b)
{
    for (uint64_t seed = SEED + 1; seed <= SEED + 3; seed++) {
        if (check_bed_word(b, HALF - 1) != pattern_at(b, seed, HALF - 1) ||
            check_bed_word(b, HALF + NEAR) != pattern_at(b, seed, NEAR) ||
            check_bed_word(b, WORDS - 1) == pattern_at(b, seed, HALF - 1))
            continue;
        check_bed_flip(b, (uint64_t)COPIED * 8 + 7, 0x80);
        return true;
    }
    return false;
}

Test(cpucheck, finds_a_bit_flipped_in_a_copy, .timeout = 200)
{
    struct check_bed b;
    int code;
    run_and_strike(&b, "1", strike_copy);
    json_t *said = check_bed_end(&b, &code);
    cr_assert_eq(code, 1);
    check_words(said, &b, "copy", COPIED, "0x8000000000000000");
    json_decref(said);
}

// C lies at the memory's begin; a row that is not computed yet has all bits set.
static bool has_row(struct check_bed *b, size_t size, uint64_t row)
{
    return check_bed_word(b, row * PRODUCT_N * size / 8) != UINT64_MAX;
}

enum { STRUCK_ROW = 2, STRUCK_COLUMN = 5 };

static bool strike_product(struct check_bed *b, size_t size)
{
    uint64_t at = (uint64_t)(STRUCK_ROW * PRODUCT_N + STRUCK_COLUMN) * size + size - 1;
    if (!has_row(b, size, 8) || has_row(b, size, PRODUCT_N - 1) ||
        has_row(b, size, PRODUCT_N - 5))
        return false;
    check_bed_flip(b, at, 0x80); // the sign
    return true;
}

static bool strike_fp32(struct check_bed *b)
{
    return strike_product(b, sizeof(float));
}

static bool strike_fp64(struct check_bed *b)
{
    return strike_product(b, sizeof(double));
}

static void check_product(struct check_bed *b, const char *kind)
{
    int code;
    json_t *said = check_bed_end(b, &code);
    cr_assert_eq(code, 1);
    cr_assert_str_eq(check_bed_text(said, "in"), "product");
    cr_assert_str_eq(check_bed_text(said, "kind"), kind);
    cr_assert_eq(check_bed_number(said, "row"), STRUCK_ROW);
    cr_assert_eq(check_bed_number(said, "column"), STRUCK_COLUMN);
    cr_assert_eq(check_bed_number(said, "count"), 1);
    cr_assert_float_eq(atof(check_bed_text(said, "expected")),
                       -atof(check_bed_text(said, "got")), 1e-30);
    json_decref(said);
}

Test(cpucheck, finds_a_bit_flipped_in_a_product, .timeout = 200)
{
    struct check_bed b;
    run_and_strike(&b, "40", strike_fp32);
    check_product(&b, "fp32");
}

Test(cpucheck, finds_a_bit_flipped_in_a_product_of_doubles, .timeout = 200)
{
    struct check_bed b;
    run_and_strike(&b, "40", strike_fp64);
    check_product(&b, "fp64");
}

Test(cpucheck, a_worker_that_stands_still_is_a_verdict, .timeout = 60)
{
    static const char *const quick[] = {"--memory", "64M", "--deadline", "1", NULL};
    struct check_bed b;
    int code;
    check_bed_start(&b, "cpucheck", quick);
    cr_assert(check_bed_stop(&b, BYTES));
    json_t *said = check_bed_end(&b, &code);
    cr_assert_eq(code, 1);
    const char *why = json_string_value(json_object_get(said, "why"));
    cr_assert_eq(strncmp(why, "it hangs (deadline: 1 s) in: ", 29), 0, "%s", why);
    cr_assert_not_null(json_object_get(said, "hung_in"));
    json_decref(said);
}
