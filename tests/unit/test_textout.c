// Text of an answer: what is kept back, and where stop strings cut.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/infer/textout.h"
#include "pieces.h"

// What is shown after each byte of `text`, by '|'; '#' where it stops.
static char *shown(const char *text, size_t n, const char *stop, const char *stop2)
{
    struct tokenizer *t = tokenizer_create_bytes();
    char *stops[] = {xstrdup(stop), xstrdup(stop2)};
    struct textout *x = textout_create(t, -1, stops, 2);
    BUF_AUTO out = BUF_INIT;
    bool stopped = false;
    for (size_t i = 0; i < n && !stopped; i++) {
        stopped = textout_push(x, (unsigned char)text[i], &out);
        buf_append_str(&out, stopped ? "#" : "|");
    }
    if (!stopped)
        textout_end(x, &out);
    free(stops[0]);
    free(stops[1]);
    textout_destroy(x);
    tokenizer_destroy(t);
    return buf_steal_str(&out);
}

static void expect(const char *text, const char *stop, const char *stop2,
                   const char *want)
{
    CLEANUP_FREE char *got = shown(text, strlen(text), stop, stop2);
    cr_assert_str_eq(got, want);
}

Test(textout, without_stops_all_is_shown_at_once)
{
    expect("abc", "", "", "a|b|c|");
}

Test(textout, a_stop_string_is_never_shown)
{
    expect("abEND", "END", "", "a|b|||#");
    expect("abEENDx", "END", "", "a|b||E||#");
}

Test(textout, what_only_looked_like_one_comes_later)
{
    expect("aENx", "END", "", "a|||ENx|");
    expect("aEN", "END", "", "a|||EN");
    expect("abab", "aba", "abb", "||#");
}

Test(textout, the_first_of_several_stops_counts)
{
    expect("xyz", "z", "yz", "x||#");
    expect("xyz", "yz", "y", "x|#");
}

Test(textout, characters_come_whole)
{
    expect("\xC3\xA9x", "", "", "|\xC3\xA9|x|");
    expect("\xF0\x9F\x98\x80", "", "", "|||\xF0\x9F\x98\x80|");
    expect("\xC3x", "", "", "|\xC3x|");
    expect("\xE2\x82", "", "", "||\xE2\x82");
    expect("\x80", "", "", "\x80|");
}

Test(textout, a_nul_is_shown_as_what_it_is_not)
{
    CLEANUP_FREE char *got = shown("a\0b", 3, "", "");
    cr_assert_str_eq(got, "a|\xEF\xBF\xBD|b|");
}

Test(textout, the_blank_behind_the_first_token_goes)
{
    struct pieces p;
    pieces_fill(&p);
    struct tokenizer *t = tokenizer_create(p.all, PIECES_N, NULL);
    struct textout *x = textout_create(t, TOKENIZER_BOS, NULL, 0);
    BUF_AUTO out = BUF_INIT;
    textout_push(x, 263, &out);
    textout_push(x, 263, &out);
    CLEANUP_FREE char *got = buf_steal_str(&out);
    cr_assert_str_eq(got, "hello hello");
    textout_destroy(x);
    tokenizer_destroy(t);
}
