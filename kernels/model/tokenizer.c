// Merging is greedy: of all neighbours that make a token, those with the best score first.
#include "kernels/model/tokenizer.h"

#include <ctype.h>
#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/model/joins.h"
#include "kernels/model/mapped.h"

struct tokenizer {
    struct tokenizer_piece *pieces; // of tokens; NULL: of bytes
    int vocab;
    char *bytes;     // what pieces point to
    int32_t *sorted; // tokens by their bytes; of equal ones the lowest first
    int32_t of_byte[TOKENIZER_BYTES]; // "<0x00>" ...
    uint32_t longest;
};

// ---- lists ------------------------------------------------------------------------

void tokens_add(struct tokens *t, int32_t token)
{
    if (t->n == t->cap) {
        t->cap = t->cap > 0 ? 2 * t->cap : 64;
        t->at = xrealloc(t->at, t->cap, sizeof *t->at);
    }
    t->at[t->n++] = token;
}

void tokens_free(struct tokens *t)
{
    free(t->at);
    *t = (struct tokens){0};
}

// ---- looking up -------------------------------------------------------------------

static int compare_bytes(const char *a, size_t na, const char *b, size_t nb)
{
    int c = memcmp(a, b, na < nb ? na : nb);
    return c != 0 ? c : (na > nb) - (na < nb);
}

static int compare_tokens(const void *a, const void *b, void *arg)
{
    const struct tokenizer_piece *pieces = arg;
    int32_t ta = *(const int32_t *)a, tb = *(const int32_t *)b;
    int c = compare_bytes(pieces[ta].bytes, pieces[ta].len, pieces[tb].bytes,
                          pieces[tb].len);
    return c != 0 ? c : (ta > tb) - (ta < tb);
}

// The token with these bytes, the lowest if several have them; -1: none.
static int32_t look_up(const struct tokenizer *t, const char *bytes, size_t n)
{
    int low = 0, high = t->vocab;
    while (low < high) {
        int mid = low + (high - low) / 2;
        const struct tokenizer_piece *p = &t->pieces[t->sorted[mid]];
        if (compare_bytes(p->bytes, p->len, bytes, n) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == t->vocab)
        return -1;
    const struct tokenizer_piece *p = &t->pieces[t->sorted[low]];
    return compare_bytes(p->bytes, p->len, bytes, n) == 0 ? t->sorted[low] : -1;
}

// ---- making -----------------------------------------------------------------------

static void copy_pieces(struct tokenizer *t, const struct tokenizer_piece *pieces)
{
    size_t total = 0;
    for (int i = 0; i < t->vocab; i++)
        total += pieces[i].len;
    t->bytes = xmalloc(total + 1);
    t->pieces = xcalloc((size_t)t->vocab, sizeof *t->pieces);
    t->sorted = xcalloc((size_t)t->vocab, sizeof *t->sorted);
    char *at = t->bytes;
    for (int i = 0; i < t->vocab; i++) {
        t->pieces[i] = (struct tokenizer_piece){
            .score = pieces[i].score, .len = pieces[i].len, .bytes = at};
        if (pieces[i].len > 0)
            memcpy(at, pieces[i].bytes, pieces[i].len);
        at += pieces[i].len;
        t->sorted[i] = i;
        t->longest = pieces[i].len > t->longest ? pieces[i].len : t->longest;
    }
    qsort_r(t->sorted, (size_t)t->vocab, sizeof *t->sorted, compare_tokens, t->pieces);
}

struct tokenizer *tokenizer_create(const struct tokenizer_piece *pieces, int n,
                                   struct err *err)
{
    struct tokenizer *t = xcalloc(1, sizeof *t);
    t->vocab = n;
    copy_pieces(t, pieces);
    for (int byte = 0; byte < TOKENIZER_BYTES; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
        t->of_byte[byte] = look_up(t, name, 6);
        if (t->of_byte[byte] < 0) {
            err_set(err,
                    "it has no token %s: a tokenizer needs one for each byte (trained "
                    "with byte_fallback)",
                    name);
            tokenizer_destroy(t);
            return NULL;
        }
    }
    return t;
}

struct tokenizer *tokenizer_create_bytes(void)
{
    struct tokenizer *t = xcalloc(1, sizeof *t);
    t->vocab = TOKENIZER_BYTES;
    t->longest = 1;
    return t;
}

void tokenizer_destroy(struct tokenizer *t)
{
    if (t == NULL)
        return;
    free(t->pieces);
    free(t->bytes);
    free(t->sorted);
    free(t);
}

int tokenizer_vocab(const struct tokenizer *t)
{
    return t->vocab;
}

uint32_t tokenizer_longest(const struct tokenizer *t)
{
    return t->longest;
}

struct tokenizer_piece tokenizer_at(const struct tokenizer *t, int32_t token)
{
    return t->pieces != NULL && token >= 0 && token < t->vocab
               ? t->pieces[token]
               : (struct tokenizer_piece){0};
}

// ---- the file ---------------------------------------------------------------------

struct reader {
    const char *name;
    const uint8_t *data;
    size_t n, at;
};

static int read_word(struct reader *r, const char *what, int token, uint32_t *out,
                     struct err *err)
{
    if (r->n - r->at < sizeof *out) {
        err_set(
            err,
            "%s: offset %zu: the file ends before the %s of token %d: it is cut, or "
            "of a model with a smaller vocabulary",
            r->name, r->at, what, token);
        return -1;
    }
    memcpy(out, r->data + r->at, sizeof *out);
    *out = le32toh(*out);
    r->at += sizeof *out;
    return 0;
}

static int read_piece(struct reader *r, int token, uint32_t longest,
                      struct tokenizer_piece *p, struct err *err)
{
    uint32_t score;
    if (read_word(r, "score", token, &score, err) < 0)
        return -1;
    memcpy(&p->score, &score, sizeof score);
    if (!isfinite(p->score)) {
        err_set(err, "%s: offset %zu: the score of token %d is no number", r->name,
                r->at - 4, token);
        return -1;
    }
    if (read_word(r, "length", token, &p->len, err) < 0)
        return -1;
    if (p->len > longest || p->len > r->n - r->at) {
        err_set(
            err,
            "%s: offset %zu: token %d has %d bytes; the longest has %u by the file's "
            "head, and %zu are left",
            r->name, r->at - 4, token, (int32_t)p->len, longest, r->n - r->at);
        return -1;
    }
    p->bytes = (const char *)r->data + r->at;
    r->at += p->len;
    return 0;
}

static int read_pieces(struct reader *r, int vocab, struct tokenizer_piece *pieces,
                       struct err *err)
{
    uint32_t longest;
    if (read_word(r, "bytes of the longest, before that", 0, &longest, err) < 0)
        return -1;
    if (longest == 0 || longest > TOKENIZER_PIECE_MAX) {
        err_set(
            err,
            "%s: offset 0: the longest token has %d bytes: it should be 1 to %d; is "
            "it a tokenizer.bin of llama2.c?",
            r->name, (int32_t)longest, TOKENIZER_PIECE_MAX);
        return -1;
    }
    for (int i = 0; i < vocab; i++)
        if (read_piece(r, i, longest, &pieces[i], err) < 0)
            return -1;
    if (r->at == r->n)
        return 0;
    err_set(
        err,
        "%s: offset %zu: %zu bytes follow the %d tokens of the model: it is of a model "
        "with a larger vocabulary",
        r->name, r->at, r->n - r->at, vocab);
    return -1;
}

struct tokenizer *tokenizer_parse(const char *name, const void *data, size_t n,
                                  int vocab, struct err *err)
{
    if (vocab < 1 || vocab > TOKENIZER_VOCAB_MAX) {
        err_set(err, "%s: a vocabulary of %d tokens: it should be 1 to %d", name, vocab,
                TOKENIZER_VOCAB_MAX);
        return NULL;
    }
    struct reader r = {.name = name, .data = data, .n = n};
    CLEANUP_FREE struct tokenizer_piece *pieces =
        xcalloc((size_t)vocab, sizeof *pieces);
    if (read_pieces(&r, vocab, pieces, err) < 0)
        return NULL;
    struct tokenizer *t = tokenizer_create(pieces, vocab, err);
    if (t == NULL)
        err_prefix(err, "%s", name);
    return t;
}

struct tokenizer *tokenizer_load(const char *path, int vocab, struct err *err)
{
    struct mapped file;
    if (mapped_open(path, &file, err) < 0)
        return NULL;
    struct tokenizer *t = tokenizer_parse(path, file.data, file.n, vocab, err);
    mapped_close(&file);
    return t;
}

static void put_word(struct buf *out, uint32_t word)
{
    word = htole32(word);
    buf_append(out, &word, sizeof word);
}

void tokenizer_render(const struct tokenizer *t, struct buf *out)
{
    if (t->pieces == NULL)
        return;
    put_word(out, t->longest);
    for (int i = 0; i < t->vocab; i++) {
        uint32_t score;
        memcpy(&score, &t->pieces[i].score, sizeof score);
        put_word(out, score);
        put_word(out, t->pieces[i].len);
        buf_append(out, t->pieces[i].bytes, t->pieces[i].len);
    }
}

// ---- encoding ---------------------------------------------------------------------

// A token of the text and what it makes with the next one.
struct link {
    int32_t token;
    int32_t joined;       // -1: no token
    int32_t before, next; // -1: none
    uint32_t stamp;       // of its newest entry in `joins`; the others are stale
};

struct merging {
    const struct tokenizer *t;
    struct link *links;
    struct joins joins;
    char *room; // for the bytes of two tokens
};

static void judge(struct merging *m, int32_t i)
{
    struct link *a = &m->links[i];
    a->joined = -1;
    a->stamp++;
    if (a->next < 0)
        return;
    const struct tokenizer_piece *p = &m->t->pieces[a->token];
    const struct tokenizer_piece *q = &m->t->pieces[m->links[a->next].token];
    if (p->len + q->len > m->t->longest)
        return;
    memcpy(m->room, p->bytes, p->len);
    memcpy(m->room + p->len, q->bytes, q->len);
    a->joined = look_up(m->t, m->room, p->len + q->len);
    if (a->joined >= 0)
        joins_put(&m->joins, (struct join){.score = m->t->pieces[a->joined].score,
                                           .at = i,
                                           .stamp = a->stamp});
}

static void join(struct merging *m, int32_t i)
{
    struct link *a = &m->links[i];
    struct link *gone = &m->links[a->next];
    a->token = a->joined;
    a->next = gone->next;
    gone->stamp++;
    if (a->next >= 0)
        m->links[a->next].before = i;
    judge(m, i);
    if (a->before >= 0)
        judge(m, a->before);
}

static void merge(const struct tokenizer *t, struct tokens *list, size_t from)
{
    int32_t n = (int32_t)(list->n - from);
    if (n == 0)
        return;
    CLEANUP_FREE struct link *links = xcalloc((size_t)n, sizeof *links);
    CLEANUP_FREE char *room = xmalloc(2 * (size_t)t->longest + 1);
    struct merging m = {.t = t, .links = links, .room = room};
    struct join best;
    for (int32_t i = 0; i < n; i++)
        links[i] = (struct link){.token = list->at[from + (size_t)i],
                                 .before = i - 1,
                                 .next = i + 1 < n ? i + 1 : -1};
    for (int32_t i = 0; i < n; i++)
        judge(&m, i);
    while (joins_take(&m.joins, &best))
        if (best.stamp == links[best.at].stamp)
            join(&m, best.at);
    joins_free(&m.joins);
    list->n = from;
    for (int32_t i = 0; i >= 0; i = links[i].next)
        tokens_add(list, links[i].token);
}

// Bytes of the code point at `at`: as llama2.c takes them, whatever follows a first byte.
static size_t code_point(const char *at, size_t n)
{
    size_t len = 1;
    while (len < n && len < 4 && ((unsigned char)at[len] & 0xC0) == 0x80)
        len++;
    return len;
}

static void add_code_point(const struct tokenizer *t, const char *at, size_t n,
                           struct tokens *out)
{
    int32_t token = look_up(t, at, n);
    if (token >= 0) {
        tokens_add(out, token);
        return;
    }
    for (size_t i = 0; i < n; i++)
        tokens_add(out, t->of_byte[(unsigned char)at[i]]);
}

void tokenizer_encode(const struct tokenizer *t, const char *text, size_t n,
                      struct tokens *out)
{
    if (t->pieces == NULL) {
        for (size_t i = 0; i < n; i++)
            tokens_add(out, (unsigned char)text[i]);
        if (n == 0)
            tokens_add(out, '\n');
        return;
    }
    tokens_add(out, TOKENIZER_BOS);
    size_t from = out->n;
    int32_t blank = look_up(t, " ", 1);
    if (n > 0 && blank >= 0)
        tokens_add(out, blank);
    for (size_t i = 0, len; i < n; i += len) {
        len = code_point(text + i, n - i);
        add_code_point(t, text + i, len, out);
    }
    merge(t, out, from);
}

// ---- decoding ---------------------------------------------------------------------

// "<0x41>": its byte; -1: it is none.
static int byte_of(const struct tokenizer_piece *p)
{
    if (p->len != 6 || memcmp(p->bytes, "<0x", 3) != 0 || p->bytes[5] != '>' ||
        !isxdigit((unsigned char)p->bytes[3]) || !isxdigit((unsigned char)p->bytes[4]))
        return -1;
    const char digits[] = {p->bytes[3], p->bytes[4], '\0'};
    return (int)strtol(digits, NULL, 16);
}

void tokenizer_decode(const struct tokenizer *t, int32_t before, int32_t token,
                      struct buf *out)
{
    if (token < 0 || token >= t->vocab)
        return;
    if (t->pieces == NULL) {
        buf_append(out, &(uint8_t){(uint8_t)token}, 1);
        return;
    }
    struct tokenizer_piece p = t->pieces[token];
    if (before == TOKENIZER_BOS && p.len > 0 && p.bytes[0] == ' ') {
        p.bytes++;
        p.len--;
    }
    int byte = byte_of(&p);
    if (byte >= 0)
        buf_append(out, &(uint8_t){(uint8_t)byte}, 1);
    else
        buf_append(out, p.bytes, p.len);
}

bool tokenizer_is_end(const struct tokenizer *t, int32_t token)
{
    return t->pieces != NULL && (token == TOKENIZER_BOS || token == TOKENIZER_EOS);
}
