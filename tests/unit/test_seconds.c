// Seconds as options give them.
#include <criterion/criterion.h>

#include "common/seconds.h"

Test(seconds, have_fractions_and_are_rounded_up)
{
    static const struct {
        const char *text;
        uint32_t ms;
    } good[] = {{"0", 0},     {"1", 1000},  {"0.5", 500},           {"0.00001", 1},
                {"2.", 2000}, {".25", 250}, {"1000000", 1000000000}};
    static const char *const bad[] = {"",    "x",   "1s",  "1,5",     "-1",
                                      "nan", "inf", "1 2", "1000001", "--"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint32_t ms = 7;
        cr_assert(seconds_parse(good[i].text, &ms), "%s", good[i].text);
        cr_assert_eq(ms, good[i].ms, "%s: %u", good[i].text, ms);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint32_t ms = 7;
        cr_assert_not(seconds_parse(bad[i], &ms), "%s", bad[i]);
        cr_assert_eq(ms, 7);
    }
}
