// Names that follow each other and differ in one number become a range.
#include "hostfile/squeeze.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hostfile/hostword.h"
#include "hostfile/ranges.h"

enum { DIGITS_MAX = 18 };

// A name as PREFIX NUMBER SUFFIX.
struct split {
    const char *name;
    size_t from, to; // of the digits; equal: no number
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static uint64_t number(const struct split *s)
{
    uint64_t n = 0;
    for (size_t i = s->from; i < s->to; i++)
        n = n * 10 + (uint64_t)(s->name[i] - '0');
    return n;
}

// Where b's number starts that alone tells it from a; false when there is none.
static bool differ(const char *a, const char *b, struct split *sa, struct split *sb)
{
    size_t i = 0;
    if (strchr(b, ':') != NULL)
        return false; // an IPv6 address: brackets would mean something else
    while (a[i] != '\0' && a[i] == b[i])
        i++;
    while (i > 0 && is_digit(b[i - 1]))
        i--;
    *sa = (struct split){a, i, i};
    *sb = (struct split){b, i, i};
    while (is_digit(a[sa->to]))
        sa->to++;
    while (is_digit(b[sb->to]))
        sb->to++;
    return sa->to > i && sb->to > i && sa->to - i <= DIGITS_MAX &&
           sb->to - i <= DIGITS_MAX && strcmp(a + sa->to, b + sb->to) == 0;
}

// True when "lo-..." counted one beyond `n` gives just the digits of s.
static bool follows(const struct split *lo, uint64_t n, const struct split *s)
{
    char text[DIGITS_MAX + 3];
    int width = lo->name[lo->from] == '0' ? (int)(lo->to - lo->from) : 0;
    int len = snprintf(text, sizeof text, "%0*llu", width, (unsigned long long)n + 1);
    return (size_t)len == s->to - s->from &&
           memcmp(text, s->name + s->from, (size_t)len) == 0;
}

static bool fits(const struct split *group, const char *name, struct split *s)
{
    struct split first;
    return differ(group->name, name, &first, s) && first.from == group->from &&
           first.to == group->to;
}

// Is there room for one more number, or the end of a range, in the word that began there?
static bool room(const struct split *group, const struct buf *out, size_t began)
{
    return buf_len(out) - began + 3 * ((size_t)DIGITS_MAX + 1) + strlen(group->name) <=
           HOSTWORD_MAX;
}

// Puts as many names as one bracket can hold (readers bound words), the first two of which
// differ in the number of `lo`; returns how many.
static size_t put_bracket(char *const *names, size_t n, struct split lo,
                          struct buf *out)
{
    const struct split group = lo;
    struct split next, last = lo;
    size_t i = 0, began = buf_len(out);
    buf_printf(out, "%.*s[", (int)lo.from, lo.name);
    for (;;) {
        bool more = ++i < n && i < RANGES_MAX && room(&group, out, began) &&
                    fits(&group, names[i], &next);
        if (more && follows(&lo, number(&last), &next)) {
            last = next;
            continue;
        }
        buf_append(out, lo.name + lo.from, lo.to - lo.from);
        if (last.name != lo.name)
            buf_printf(out, "-%.*s", (int)(last.to - last.from), last.name + last.from);
        if (!more)
            break;
        buf_append_str(out, ",");
        lo = last = next;
    }
    buf_printf(out, "]%s", group.name + group.to);
    return i;
}

void squeeze(char *const *names, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        struct split a, b;
        buf_append_str(out, i > 0 ? "," : "");
        if (i + 1 < n && differ(names[i], names[i + 1], &a, &b)) {
            i += put_bracket(names + i, n - i, a, out);
            continue;
        }
        buf_append_str(out, names[i++]);
    }
}
