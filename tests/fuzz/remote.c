// libFuzzer target for what a remote login shell prints: answers among noise, in pieces too.
#include <ctype.h>
#include <string.h>

#include "common/mem.h"
#include "demand.h"
#include "wire/remote.h"

struct answer {
    enum remote_word word;
    char *text;
    size_t left; // bytes behind it
};

static struct answer first_answer(const uint8_t *data, size_t size, size_t piece)
{
    BUF_AUTO in = BUF_INIT;
    struct answer a = {0};
    for (size_t at = 0; a.word == REMOTE_NONE && at < size; at += piece) {
        size_t n = piece < size - at ? piece : size - at;
        buf_append(&in, data + at, n);
        a.word = remote_answer(&in, &a.text);
        a.left = size - at - n + buf_len(&in);
    }
    return a;
}

static void check_excerpt(const uint8_t *data, size_t size)
{
    BUF_AUTO said = BUF_INIT;
    buf_append(&said, data, size);
    CLEANUP_FREE char *text = remote_excerpt(&said, 80);
    for (const char *c = text; *c != '\0'; c++)
        demand(isprint((unsigned char)*c), "it is not safe to print");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct answer whole = first_answer(data, size, size + 1);
    struct answer pieces = first_answer(data, size, 1 + size % 5);
    demand(whole.word == pieces.word && whole.left == pieces.left,
           "in pieces it is another answer");
    demand((whole.text == NULL) == (pieces.text == NULL) &&
               (whole.text == NULL || strcmp(whole.text, pieces.text) == 0),
           "in pieces it has another text");
    free(whole.text);
    free(pieces.text);
    check_excerpt(data, size);
    return 0;
}
