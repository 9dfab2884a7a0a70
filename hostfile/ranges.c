// Bracket ranges: counted first, expanded only when the count is in bounds.
#include "hostfile/ranges.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"

enum { DIGITS_MAX = 18 };

struct range {
    uint64_t lo, hi;
    int width; // 0: no padding
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

size_t ranges_item(const char *list, size_t len)
{
    bool inside = false;
    if (memchr(list, ',', len) == NULL)
        return len;
    for (size_t i = 0; i < len; i++) {
        if (list[i] == '[')
            inside = true;
        else if (list[i] == ']')
            inside = false;
        else if (list[i] == ',' && !inside)
            return i;
    }
    return len;
}

// Reads digits at *i; moves *i behind them.
static int read_number(const char *w, size_t len, size_t *i, const struct place *at,
                       uint64_t *out, struct err *err)
{
    size_t start = *i;
    for (*out = 0; *i < len && is_digit(w[*i]); ++*i) {
        if (*i - start == DIGITS_MAX)
            return place_fail(at, start, "HF_RANGE_TOO_BIG", err,
                              "a number of more than %d digits in a range", DIGITS_MAX);
        *out = *out * 10 + (uint64_t)(w[*i] - '0');
    }
    if (*i == start)
        return place_fail(at, start, "HF_SYNTAX", err,
                          "a number is missing in the brackets of '%.*s': write "
                          "name[0-3] or name[0,2,5]",
                          place_shown(len), w);
    return 0;
}

// One "7" or "01-16" at *i.
static int read_range(const char *w, size_t len, size_t *i, const struct place *at,
                      struct range *r, struct err *err)
{
    size_t start = *i;
    if (read_number(w, len, i, at, &r->lo, err) < 0)
        return -1;
    r->hi = r->lo;
    r->width = w[start] == '0' ? (int)(*i - start) : 0;
    if (*i < len && w[*i] == '-') {
        ++*i;
        if (read_number(w, len, i, at, &r->hi, err) < 0)
            return -1;
    }
    if (r->hi < r->lo)
        return place_fail(at, start, "HF_SYNTAX", err,
                          "the range '%.*s' runs backwards: the smaller number comes "
                          "first",
                          place_shown(*i - start), w + start);
    return 0;
}

// Steps over one bracket at *i ('['), counting its names. `each` NULL: count only.
static int walk_bracket(const char *w, size_t len, size_t *i, const struct place *at,
                        uint64_t *count, struct err *err)
{
    size_t open = *i;
    for (*count = 0; *i < len && (*i == open || w[*i] == ',');) {
        struct range r;
        ++*i;
        if (read_range(w, len, i, at, &r, err) < 0)
            return -1;
        uint64_t more = r.hi - r.lo + 1;
        *count = more > RANGES_MAX ? RANGES_MAX + 1 : *count + more;
        if (*count > RANGES_MAX)
            break;
    }
    if (*count > RANGES_MAX)
        return 0;
    if (*i == len)
        return place_fail(at, open, "HF_SYNTAX", err, "'[' has no ']' in '%.*s'",
                          place_shown(len), w);
    if (w[*i] != ']')
        return place_fail(at, *i, "HF_SYNTAX", err,
                          "'%c' inside the brackets of '%.*s': only numbers, '-' and "
                          "',' may stand there",
                          w[*i], place_shown(len), w);
    ++*i;
    return 0;
}

static int count_names(const char *w, size_t len, const struct place *at,
                       struct err *err)
{
    uint64_t total = 1, here;
    int brackets = 0;
    for (size_t i = 0; i < len;) {
        if (w[i] == ']')
            return place_fail(at, i, "HF_SYNTAX", err, "']' without '[' in '%.*s'",
                              place_shown(len), w);
        if (w[i] != '[') {
            i++;
            continue;
        }
        if (++brackets > RANGES_BRACKETS_MAX)
            return place_fail(at, i, "HF_SYNTAX", err,
                              "more than %d brackets in a word", RANGES_BRACKETS_MAX);
        size_t open = i;
        if (walk_bracket(w, len, &i, at, &here, err) < 0)
            return -1;
        total *= here;
        if (total > RANGES_MAX)
            return place_fail(at, open, "HF_RANGE_TOO_BIG", err,
                              "'%.*s' stands for more than %d names", place_shown(len),
                              w, RANGES_MAX);
    }
    return 0;
}

// `made` holds what was expanded of the word so far; w is the rest, known to be right.
static void expand(struct buf *made, const char *w, size_t len, struct strv *out)
{
    const char *open = memchr(w, '[', len);
    size_t keep = buf_len(made), plain = open != NULL ? (size_t)(open - w) : len;
    buf_append(made, w, plain);
    if (open == NULL) {
        strv_add_steal(out, xstrndup((const char *)buf_data(made), buf_len(made)));
        made->end = made->start + keep;
        return;
    }
    const char *close = memchr(open, ']', len - plain);
    const struct place nowhere = {.file = ""};
    for (size_t i = plain; w + i < close;) {
        struct range r;
        i++;
        if (read_range(w, len, &i, &nowhere, &r, NULL) < 0)
            return;
        for (uint64_t n = r.lo; n <= r.hi; n++) {
            size_t before = buf_len(made);
            buf_printf(made, "%0*llu", r.width, (unsigned long long)n);
            expand(made, close + 1, (size_t)(w + len - close - 1), out);
            made->end = made->start + before;
        }
    }
    made->end = made->start + keep;
}

int ranges_expand(const char *word, size_t len, const struct place *at,
                  struct strv *out, struct err *err)
{
    if (count_names(word, len, at, err) < 0)
        return -1;
    BUF_AUTO made = BUF_INIT;
    expand(&made, word, len, out);
    return 0;
}
