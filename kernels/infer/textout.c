// The bytes that are kept back are few: each new token is looked at together with them.
#include "kernels/infer/textout.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/strv.h"

struct textout {
    const struct tokenizer *tokenizer;
    int32_t before;
    struct strv stops;
    struct buf kept;
};

struct textout *textout_create(const struct tokenizer *t, int32_t before,
                               char *const *stops, size_t nstops)
{
    struct textout *x = xcalloc(1, sizeof *x);
    *x = (struct textout){.tokenizer = t, .before = before};
    for (size_t i = 0; i < nstops; i++)
        if (stops[i][0] != '\0')
            strv_add(&x->stops, stops[i]);
    return x;
}

void textout_destroy(struct textout *x)
{
    if (x == NULL)
        return;
    strv_free(&x->stops);
    buf_free(&x->kept);
    free(x);
}

static void append_token(struct textout *x, int32_t token)
{
    BUF_AUTO bytes = BUF_INIT;
    tokenizer_decode(x->tokenizer, x->before, token, &bytes);
    x->before = token;
    for (size_t i = 0; i < buf_len(&bytes); i++) {
        if (buf_data(&bytes)[i] == '\0')
            buf_append_str(&x->kept, "\xEF\xBF\xBD");
        else
            buf_append(&x->kept, buf_data(&bytes) + i, 1);
    }
}

// Where the first stop string begins; the text's length: nowhere.
static size_t find_stop(const struct textout *x, const char *text, size_t n)
{
    size_t first = n;
    for (size_t i = 0; i < x->stops.n; i++) {
        const char *at = memmem(text, n, x->stops.v[i], strlen(x->stops.v[i]));
        if (at != NULL && (size_t)(at - text) < first)
            first = (size_t)(at - text);
    }
    return first;
}

// Bytes at the end that begin `stop`.
static size_t overlap(const char *text, size_t n, const char *stop)
{
    size_t most = strlen(stop) - 1;
    for (size_t len = most < n ? most : n; len > 0; len--)
        if (memcmp(text + n - len, stop, len) == 0)
            return len;
    return 0;
}

// Bytes at the end that begin a character.
static size_t cut_character(const char *text, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)text[n - back];
        size_t want = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
        if (c >= 0xC0)
            return want > back && c < 0xF8 ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

bool textout_push(struct textout *x, int32_t token, struct buf *out)
{
    append_token(x, token);
    size_t n = buf_len(&x->kept);
    const char *text = (const char *)buf_data(&x->kept);
    if (n == 0)
        return false;
    size_t stop = find_stop(x, text, n);
    if (stop < n) {
        buf_append(out, text, stop);
        buf_clear(&x->kept);
        return true;
    }
    size_t keep = cut_character(text, n);
    for (size_t i = 0; i < x->stops.n; i++) {
        size_t len = overlap(text, n, x->stops.v[i]);
        keep = len > keep ? len : keep;
    }
    buf_append(out, text, n - keep);
    buf_take(&x->kept, n - keep);
    return false;
}

void textout_end(struct textout *x, struct buf *out)
{
    buf_append(out, buf_data(&x->kept), buf_len(&x->kept));
    buf_clear(&x->kept);
}
