// Bracket ranges.
#include <criterion/criterion.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "hostfile/ranges.h"

static const struct place at = {.file = "F", .line = 3, .column = 5};

static char *expand(const char *word)
{
    ERR_AUTO err = ERR_INIT;
    STRV_AUTO names = STRV_INIT;
    BUF_AUTO b = BUF_INIT;
    if (ranges_expand(word, strlen(word), &at, &names, &err) < 0) {
        cr_assert_eq(names.n, 0);
        return xstrdup(err_text(&err));
    }
    for (size_t i = 0; i < names.n; i++)
        buf_printf(&b, "%s%s", i > 0 ? " " : "", names.v[i]);
    return buf_steal_str(&b);
}

static void expect(const char *word, const char *names)
{
    CLEANUP_FREE char *got = expand(word);
    cr_assert_str_eq(got, names, "%s: got %s, expected %s", word, got, names);
}

static void expect_error(const char *word, const char *head)
{
    CLEANUP_FREE char *got = expand(word);
    cr_assert_eq(strncmp(got, head, strlen(head)), 0, "%s: got %s, expected %s", word,
                 got, head);
}

Test(ranges, expands_in_order_and_keeps_padding)
{
    expect("train-[0-3].train",
           "train-0.train train-1.train train-2.train train-3.train");
    expect("node[08-10,20]-ib", "node08-ib node09-ib node10-ib node20-ib");
    expect("b-[001-002]", "b-001 b-002");
    expect("h[00-03]", "h00 h01 h02 h03");
    expect("h[001,003-004,006]", "h001 h003 h004 h006");
    expect("gpu[01-02]-r[1-2]", "gpu01-r1 gpu01-r2 gpu02-r1 gpu02-r2");
    expect("[1-2]x", "1x 2x");
    expect("n[98-101]", "n98 n99 n100 n101");
    expect("linux[1]", "linux1");
    expect("n[0]", "n0");
}

Test(ranges, leaves_other_words_alone)
{
    expect("jean-z-ia810", "jean-z-ia810");
    expect("az-969791030863811-7180085177944178271-wxyz",
           "az-969791030863811-7180085177944178271-wxyz");
}

Test(ranges, refuses_with_the_column_of_the_fault)
{
    expect_error("n[1-", "F:3:9: HF_SYNTAX: ");
    expect_error("n[1-2", "F:3:6: HF_SYNTAX: '[' has no ']'");
    expect_error("n[]", "F:3:7: HF_SYNTAX: a number is missing");
    expect_error("n[1,]", "F:3:9: HF_SYNTAX: a number is missing");
    expect_error("n[a-c]", "F:3:7: HF_SYNTAX: a number is missing");
    expect_error("n[1-2x]", "F:3:10: HF_SYNTAX: 'x' inside");
    expect_error("n[[1]]", "F:3:7: HF_SYNTAX: a number is missing");
    expect_error("n[3-1]", "F:3:7: HF_SYNTAX: the range '3-1' runs backwards");
    expect_error("n1]", "F:3:7: HF_SYNTAX: ']' without '['");
}

Test(ranges, refuses_huge_ranges_before_expanding, .timeout = 5)
{
    expect_error("gpu[001-100000]", "F:3:8: HF_RANGE_TOO_BIG: ");
    expect_error("a[0-300][0-300]", "F:3:13: HF_RANGE_TOO_BIG: ");
    expect_error("a[0-999999999999999999]", "F:3:6: HF_RANGE_TOO_BIG: ");
    expect_error("a[0-99999999999999999999]", "F:3:9: HF_RANGE_TOO_BIG: ");
    expect_error("[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]",
                 "F:3:53: HF_SYNTAX: more than 16 brackets");
}

Test(ranges, the_largest_range_is_taken, .timeout = 5)
{
    STRV_AUTO names = STRV_INIT;
    const char *word = "n[0-65535]";
    cr_assert_eq(ranges_expand(word, strlen(word), &at, &names, NULL), 0);
    cr_assert_eq(names.n, RANGES_MAX);
    cr_assert_str_eq(names.v[65535], "n65535");
}

Test(ranges, items_end_at_commas_outside_brackets)
{
    cr_assert_eq(ranges_item("nodeB[001,003],nodeC", 20), 14);
    cr_assert_eq(ranges_item("alpha,beta", 10), 5);
    cr_assert_eq(ranges_item(",", 1), 0);
    cr_assert_eq(ranges_item("alone", 5), 5);
}
