// Text to tokens and back, and files that are none.
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "pieces.h"

static struct tokenizer *make(void)
{
    struct pieces p;
    pieces_fill(&p);
    return tokenizer_create(p.all, PIECES_N, NULL);
}

static void expect(const struct tokenizer *t, const char *text, const int32_t *want,
                   size_t n)
{
    TOKENS_AUTO got = {0};
    tokenizer_encode(t, text, strlen(text), &got);
    cr_assert_eq(got.n, n, "'%s': %zu tokens", text, got.n);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(got.at[i], want[i], "'%s': token %zu is %d", text, i, got.at[i]);
}

#define EXPECT(t, text, ...)                                                           \
    expect(t, text, (const int32_t[]){__VA_ARGS__},                                    \
           sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

Test(tokenizer, the_best_score_is_joined_first)
{
    struct tokenizer *t = make();
    // " h" (259), "el" (260) and "lo" (261) before "ll" (264); then " hel", " hello".
    EXPECT(t, "hello", TOKENIZER_BOS, 263);
    EXPECT(t, "helo", TOKENIZER_BOS, 262, 269);
    EXPECT(t, "ll", TOKENIZER_BOS, 265, 264);
    EXPECT(t, "", TOKENIZER_BOS);
    tokenizer_destroy(t);
}

Test(tokenizer, what_is_no_token_goes_byte_by_byte)
{
    struct tokenizer *t = make();
    EXPECT(t, "\xC3\xA9", TOKENIZER_BOS, 265, 270);
    EXPECT(t, "\xC3\xA8", TOKENIZER_BOS, 265, PIECES_BYTE + 0xC3, PIECES_BYTE + 0xA8);
    EXPECT(t, "\xFFz", TOKENIZER_BOS, 265, PIECES_BYTE + 0xFF, PIECES_BYTE + 'z');
    tokenizer_destroy(t);
}

Test(tokenizer, decoding_gives_the_text_back)
{
    static const char *const texts[] = {"hello", "  hello lo", "\xC3\xA9\xC3\xA8\x80!",
                                        "z\n", "\xF0\x9F\x98\x80 ok"};
    struct tokenizer *t = make();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        TOKENS_AUTO tokens = {0};
        BUF_AUTO text = BUF_INIT;
        tokenizer_encode(t, texts[i], strlen(texts[i]), &tokens);
        for (size_t k = 1; k < tokens.n; k++)
            tokenizer_decode(t, tokens.at[k - 1], tokens.at[k], &text);
        CLEANUP_FREE char *got = buf_steal_str(&text);
        cr_assert_str_eq(got, texts[i]);
    }
    cr_assert(tokenizer_is_end(t, TOKENIZER_EOS));
    cr_assert_not(tokenizer_is_end(t, 3));
    tokenizer_destroy(t);
}

Test(tokenizer, bytes_have_no_ends)
{
    struct tokenizer *t = tokenizer_create_bytes();
    EXPECT(t, "a\xFF", 'a', 0xFF);
    EXPECT(t, "", '\n');
    cr_assert_not(tokenizer_is_end(t, TOKENIZER_BOS));
    cr_assert_eq(tokenizer_vocab(t), 256);
    tokenizer_destroy(t);
}

// ---- merging, against its definition ----------------------------------------------

// As llama2.c does it: of all neighbours that make a token, those with the best score, and of
// equal ones the first, again and again.
static void merge_slowly(const struct tokenizer *t, struct tokens *list)
{
    for (;;) {
        int32_t found = -1;
        size_t at = 0;
        for (size_t i = 1; i + 1 < list->n; i++) {
            struct tokenizer_piece p = tokenizer_at(t, list->at[i]),
                                   q = tokenizer_at(t, list->at[i + 1]);
            CLEANUP_FREE char *both =
                xasprintf("%.*s%.*s", (int)p.len, p.bytes, (int)q.len, q.bytes);
            int32_t token = 0;
            while (token < tokenizer_vocab(t) &&
                   (tokenizer_at(t, token).len != p.len + q.len ||
                    memcmp(tokenizer_at(t, token).bytes, both, p.len + q.len) != 0))
                token++;
            if (token == tokenizer_vocab(t) ||
                (found >= 0 &&
                 tokenizer_at(t, token).score <= tokenizer_at(t, found).score))
                continue;
            found = token;
            at = i;
        }
        if (found < 0)
            return;
        list->at[at] = found;
        list->n--;
        memmove(&list->at[at + 1], &list->at[at + 2],
                (list->n - at - 1) * sizeof *list->at);
    }
}

enum { RANDOM_PIECES = 60, RANDOM_N = PIECES_FIRST + RANDOM_PIECES };

// Pieces of the letters a, b and c, with few scores: many are equal.
static struct tokenizer *make_random(unsigned *seed)
{
    struct pieces p;
    struct tokenizer_piece all[RANDOM_N];
    char words[RANDOM_PIECES][8] = {" ", "a", "b", "c"};
    pieces_fill(&p);
    memcpy(all, p.all, PIECES_FIRST * sizeof *all);
    for (int i = 0; i < RANDOM_PIECES; i++) {
        size_t n = 2 + (size_t)rand_r(seed) % 4;
        for (size_t k = 0; i >= 4 && k < n; k++)
            words[i][k] = (char)('a' + rand_r(seed) % 3);
        all[PIECES_FIRST + i] =
            (struct tokenizer_piece){.bytes = words[i],
                                     .len = (uint32_t)strlen(words[i]),
                                     .score = (float)(rand_r(seed) % 4)};
    }
    return tokenizer_create(all, RANDOM_N, NULL);
}

Test(tokenizer, random_texts_are_merged_as_the_definition_says)
{
    unsigned seed = 7;
    for (int round = 0; round < 50; round++) {
        struct tokenizer *t = make_random(&seed);
        char text[60];
        TOKENS_AUTO want = {0};
        size_t n = 1 + (size_t)rand_r(&seed) % (sizeof text - 1);
        for (size_t i = 0; i < n; i++)
            text[i] = (char)('a' + rand_r(&seed) % 3);
        text[n - 1] = '\0';
        tokens_add(&want, TOKENIZER_BOS);
        for (size_t i = 0; i < n && n > 1; i++) // a blank, then the letters
            tokens_add(&want,
                       i == 0 ? PIECES_FIRST : PIECES_FIRST + 1 + text[i - 1] - 'a');
        merge_slowly(t, &want);
        expect(t, text, want.at, want.n);
        tokenizer_destroy(t);
    }
}

// What takes a square of the length would take hours.
Test(tokenizer, a_long_text_is_a_matter_of_a_moment, .timeout = 60)
{
    enum { LONG = 1 << 20 };
    unsigned seed = 3;
    struct tokenizer *t = make_random(&seed);
    CLEANUP_FREE char *text = xmalloc(LONG);
    TOKENS_AUTO got = {0};
    size_t bytes = 0;
    for (size_t i = 0; i < LONG; i++)
        text[i] = (char)('a' + rand_r(&seed) % 3);
    tokenizer_encode(t, text, LONG, &got);
    for (size_t i = 1; i < got.n; i++)
        bytes += tokenizer_at(t, got.at[i]).len;
    cr_assert_eq(bytes, LONG + 1); // the blank before it
    cr_assert_leq(got.n, LONG);
    tokenizer_destroy(t);
}

// ---- the file ---------------------------------------------------------------------

static void render(struct buf *out)
{
    struct tokenizer *t = make();
    tokenizer_render(t, out);
    tokenizer_destroy(t);
}

Test(tokenizer, a_file_is_read_as_it_was_written)
{
    BUF_AUTO file = BUF_INIT, again = BUF_INIT;
    render(&file);
    struct tokenizer *t =
        tokenizer_parse("f", buf_data(&file), buf_len(&file), PIECES_N, NULL);
    cr_assert_not_null(t);
    tokenizer_render(t, &again);
    cr_assert_eq(buf_len(&again), buf_len(&file));
    cr_assert_eq(memcmp(buf_data(&again), buf_data(&file), buf_len(&file)), 0);
    cr_assert_eq(tokenizer_at(t, 263).len, 6);
    tokenizer_destroy(t);
}

Test(tokenizer, each_cut_is_an_error_with_its_offset)
{
    BUF_AUTO file = BUF_INIT;
    render(&file);
    for (size_t n = 0; n < buf_len(&file); n++) {
        ERR_AUTO err = ERR_INIT;
        CLEANUP_FREE uint8_t *copy = xmemdup(buf_data(&file), n);
        cr_assert_null(tokenizer_parse("f.bin", copy, n, PIECES_N, &err));
        cr_assert_not_null(strstr(err_text(&err), "f.bin: offset "), "%s",
                           err_text(&err));
    }
}

static void expect_error(const struct buf *file, int vocab, const char *part)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_null(tokenizer_parse("f", buf_data(file), buf_len(file), vocab, &err));
    cr_assert_not_null(strstr(err_text(&err), part), "%s", err_text(&err));
}

Test(tokenizer, bad_fields_are_named)
{
    BUF_AUTO file = BUF_INIT;
    render(&file);
    expect_error(&file, PIECES_N - 1, "larger vocabulary");
    expect_error(&file, 0, "vocabulary of 0 tokens");
    expect_error(&file, 258, "larger vocabulary");
    const float nan = NAN;
    memcpy(buf_data(&file) + 4, &nan, sizeof nan);
    expect_error(&file, PIECES_N, "offset 4: the score of token 0");
    memset(buf_data(&file) + 4, 0, 4);
    memset(buf_data(&file) + 8, 0x7F, 4);
    expect_error(&file, PIECES_N, "offset 8: token 0 has 2139062143 bytes");
    memset(buf_data(&file), 0xFF, 4);
    expect_error(&file, PIECES_N, "offset 0: the longest token has -1 bytes");
}

Test(tokenizer, a_byte_without_a_token_is_an_error)
{
    ERR_AUTO err = ERR_INIT;
    struct pieces p;
    pieces_fill(&p);
    p.all[PIECES_BYTE + 'A'].bytes = "<0x-->";
    cr_assert_null(tokenizer_create(p.all, PIECES_N, &err));
    cr_assert_not_null(strstr(err_text(&err), "<0x41>"));
}
