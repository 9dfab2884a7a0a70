// RoPE's table: beside libm's numbers, and the same bits on every machine.
#include <criterion/criterion.h>

#include "common/crc32.h"
#include "kernels/model/rope.h"
#include "tests/unit/numbers.h"

Test(rope, turns_are_powers_within_two_units)
{
    static const size_t dims[] = {2, 6, 8, 48, 64, 80, 128, 256};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        for (size_t pair = 0; pair < dims[i] / 2; pair++) {
            double want = pow(10000, -(double)(2 * pair) / (double)dims[i]);
            double is = rope_turn(pair, dims[i]);
            cr_assert(fabs(is - want) <= 0x1p-51 * want, "%zu of %zu: %a, not %a", pair,
                      dims[i], is, want);
        }
    }
}

static void check_angle(double x)
{
    double s, c, most = 0x1p-52 + 0x1p-53; // ours and libm's
    rope_sincos(x, &s, &c);
    cr_assert(fabs(s - sin(x)) <= most, "sin %a: %a, not %a", x, s, sin(x));
    cr_assert(fabs(c - cos(x)) <= most, "cos %a: %a, not %a", x, c, cos(x));
}

Test(rope, sines_and_cosines_are_right_to_the_last_bits)
{
    CLEANUP_FREE float *x = numbers(1, 3000);
    for (size_t i = 0; i < 3000; i++) {
        double part = fabs((double)x[i]);
        check_angle(part * 7);
        check_angle(part * 4096);
        check_angle(part * 0x1p24);
        check_angle((double)i *
                    M_PI_4); // where they are 0, and where the quarters meet
    }
}

Test(rope, the_table_is_libms_within_one_unit)
{
    enum { LENGTH = 3000, DIM = 48 };
    CLEANUP_FREE float *table = xcalloc(LENGTH * DIM, sizeof *table);
    rope_table(table, LENGTH, DIM);
    for (size_t i = 0; i < LENGTH * DIM; i++) {
        double turn = pow(10000, -(double)(i % DIM / 2 * 2) / DIM);
        double angle = (double)(i / DIM) * turn;
        float want = (float)(i % 2 == 0 ? cos(angle) : sin(angle));
        cr_assert(table[i] >= nextafterf(want, -2) && table[i] <= nextafterf(want, 2),
                  "position %zu, float %zu: %a, not %a", i / DIM, i % DIM,
                  (double)table[i], (double)want);
    }
}

// What IEEE's doubles give, computed by another program: other bits here are another model there.
Test(rope, the_table_has_the_same_bits_everywhere)
{
    enum { LENGTH = 1000, DIM = 48 };
    CLEANUP_FREE float *table = xcalloc(LENGTH * DIM, sizeof *table);
    rope_table(table, LENGTH, DIM);
    cr_assert_eq(crc32_add(0, table, LENGTH * DIM * sizeof *table), 0xb33a5576);
}

Test(rope, a_files_columns_are_the_table)
{
    enum { LENGTH = 5, DIM = 6, HALF = LENGTH * DIM / 2 };
    float table[2 * HALF], columns[2 * HALF];
    rope_table(table, LENGTH, DIM);
    rope_columns(columns, LENGTH, DIM);
    for (size_t i = 0; i < HALF; i++) {
        cr_assert_eq(columns[i], table[2 * i]);
        cr_assert_eq(columns[HALF + i], table[2 * i + 1]);
    }
}
