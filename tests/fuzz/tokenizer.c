// libFuzzer target for a tokenizer's file: the first two bytes are the vocabulary, and what is
// taken encodes and decodes any text.
#include <string.h>

#include "common/buf.h"
#include "demand.h"
#include "kernels/model/tokenizer.h"

// Texts come back from their tokens, but for the blank that is put before them.
static void check(const struct tokenizer *t, const char *text, size_t n)
{
    TOKENS_AUTO tokens = {0};
    BUF_AUTO out = BUF_INIT;
    tokenizer_encode(t, text, n, &tokens);
    demand(tokens.n > 0 && tokens.n <= n + 2, "more tokens than bytes");
    for (size_t i = 0; i < tokens.n; i++) {
        demand(tokens.at[i] >= 0 && tokens.at[i] < tokenizer_vocab(t), "no token");
        tokenizer_decode(t, i > 0 ? tokens.at[i - 1] : -1, tokens.at[i], &out);
    }
}

static void round_trip(const struct tokenizer *t, const uint8_t *data, size_t n)
{
    BUF_AUTO again = BUF_INIT;
    tokenizer_render(t, &again);
    // The head may have said more than its longest token has.
    demand(buf_len(&again) == n && memcmp(buf_data(&again) + 4, data + 4, n - 4) == 0,
           "it is written as something else");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    if (size < 2)
        return 0;
    int vocab = data[0] | data[1] << 8;
    data += 2;
    size -= 2;
    struct tokenizer *t = tokenizer_parse("f", data, size, vocab, &err);
    if (t == NULL) {
        demand_error(&err);
        return 0;
    }
    check(t, (const char *)data, size < 64 ? size : 64);
    check(t, "", 0);
    round_trip(t, data, size);
    tokenizer_destroy(t);
    return 0;
}
