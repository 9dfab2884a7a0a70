// Host ranges: names squeezed, and out of them the same names again.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "common/strv.h"
#include "hostfile/hostword.h"
#include "hostfile/ranges.h"
#include "hostfile/squeeze.h"

static void split(const char *list, struct strv *out)
{
    static const struct place at = {.file = "F", .line = 1, .column = 1};
    for (size_t i = 0, len = strlen(list); i < len; i++) {
        size_t item = ranges_item(list + i, len - i);
        cr_assert_eq(ranges_expand(list + i, item, &at, out, NULL), 0, "%s", list);
        i += item;
    }
}

// The names of `list` are squeezed to `wanted`, which stands for the same names.
static void expect(const char *list, const char *wanted)
{
    STRV_AUTO names = STRV_INIT;
    STRV_AUTO again = STRV_INIT;
    BUF_AUTO out = BUF_INIT;
    split(list, &names);
    squeeze(names.v, names.n, &out);
    CLEANUP_FREE char *got = buf_steal_str(&out);
    cr_assert_str_eq(got, wanted, "%s: got %s, expected %s", list, got, wanted);
    split(got, &again);
    cr_assert_eq(again.n, names.n, "%s", got);
    for (size_t i = 0; i < names.n; i++)
        cr_assert_str_eq(again.v[i], names.v[i], "%s", got);
}

Test(squeeze, ranges)
{
    expect("node[01-16,20]-ib", "node[01-16,20]-ib");
    expect("a,b", "a,b");
    expect("a1,a2,b,c3", "a[1-2],b,c3");
    expect("n9,n10,n11", "n[9-11]");
    expect("n09,n10,n11", "n[09-11]");
    expect("n99,n100", "n[99-100]");
    expect("n099,n100,n0101", "n[099-100,0101]");
    expect("n3,n1,n2", "n[3,1-2]");
    expect("a1,a1,a2", "a[1,1-2]");
    expect("gpu[01-02]-r[1-2]", "gpu01-r[1-2],gpu02-r[1-2]");
    expect("10.0.0.[1-3],10.0.1.1", "10.0.0.[1-3],10.0.1.1");
    expect("fd00::1,fd00::2", "fd00::1,fd00::2");
    expect("n0,n00", "n[0,00]");
}

// Case hf-34: numbers beyond 2^31 and 2^63, byte for byte.
Test(squeeze, long_numbers)
{
    expect("az-969791030863811-7180085177944178271-w,az-969791030863811-"
           "7180085177944178272-w",
           "az-969791030863811-7180085177944178271-w,az-969791030863811-"
           "7180085177944178272-w");
    expect("x4294967295,x4294967296", "x[4294967295-4294967296]");
    expect("x999999999999999999,x1000000000000000000",
           "x999999999999999999,x1000000000000000000");
}

// More names than one word may stand for.
Test(squeeze, ranges_stay_within_bounds)
{
    STRV_AUTO names = STRV_INIT;
    STRV_AUTO again = STRV_INIT;
    BUF_AUTO out = BUF_INIT;
    for (int i = 0; i < RANGES_MAX + 2; i++)
        strv_addf(&names, "n%d", i);
    squeeze(names.v, names.n, &out);
    CLEANUP_FREE char *got = buf_steal_str(&out);
    cr_assert_str_eq(got, "n[0-65535],n[65536-65537]");
    split(got, &again);
    cr_assert_eq(again.n, names.n);
}

// A reader takes words of HOSTWORD_MAX bytes.
Test(squeeze, words_stay_within_what_readers_take)
{
    STRV_AUTO names = STRV_INIT;
    STRV_AUTO again = STRV_INIT;
    BUF_AUTO out = BUF_INIT;
    for (unsigned i = 0; i < 1000; i++)
        strv_addf(&names, "gpu%upu19pup", i * 2 + 7);
    squeeze(names.v, names.n, &out);
    CLEANUP_FREE char *got = buf_steal_str(&out);
    static const struct place at = {.file = "F", .line = 1, .column = 1};
    for (size_t i = 0, len = strlen(got), n = 0; i < len; i += n + 1) {
        n = ranges_item(got + i, len - i);
        cr_assert_leq(n, HOSTWORD_MAX);
        cr_assert_eq(ranges_expand(got + i, n, &at, &again, NULL), 0, "%s", got);
    }
    cr_assert_eq(again.n, names.n);
    for (size_t i = 0; i < names.n; i++)
        cr_assert_str_eq(again.v[i], names.v[i]);
}
