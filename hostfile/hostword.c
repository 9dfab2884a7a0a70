// Words that name hosts.
#include "hostfile/hostword.h"

#include <string.h>

#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/ranges.h"

long hostword_number(const char *s, size_t len, long max)
{
    long n = 0;
    for (size_t i = 0; i < len; i++) {
        if (s[i] < '0' || s[i] > '9')
            return -1;
        n = n * 10 + (s[i] - '0');
        if (n > max)
            return -1;
    }
    return len > 0 ? n : -1;
}

int hostword_count(const char *s, size_t len, const char *what, const struct place *at,
                   size_t offset, int *out, struct err *err)
{
    long n = hostword_number(s, len, HOSTWORD_SLOTS_MAX);
    *out = (int)n;
    if (n >= 0)
        return 0;
    if (len == 0)
        return place_fail(at, offset, "HF_BAD_COUNT", err,
                          "%s has no number: write 0 to %d", what, HOSTWORD_SLOTS_MAX);
    return place_fail(at, offset, "HF_BAD_COUNT", err,
                      "%s is '%.*s', not a whole number from 0 to %d", what,
                      place_shown(len), s, HOSTWORD_SLOTS_MAX);
}

static int take_count(const char *text, const char *s, size_t len,
                      const struct place *at, struct hostword *w, struct err *err)
{
    CLEANUP_FREE char *what =
        xasprintf("the count behind '%.*s:'", place_shown(w->host_len), w->host);
    return hostword_count(s, len, what, at, (size_t)(s - text), &w->count, err);
}

static int take_user(const char *text, size_t len, const struct place *at,
                     struct hostword *w, struct err *err)
{
    const char *sign = memchr(text, '@', len);
    if (sign == NULL)
        return 0;
    w->user = text;
    w->user_len = (size_t)(sign - text);
    const char *again = memchr(sign + 1, '@', len - w->user_len - 1);
    if (w->user_len == 0 || again != NULL)
        return place_fail(at, again != NULL ? (size_t)(again - text) : 0, "HF_SYNTAX",
                          err, "'%.*s' is not USER@HOST", place_shown(len), text);
    return hostname_check_user(w->user, w->user_len, at, 0, err);
}

// "[fd00::5]" or "[fd00::5]:4"; the brackets hold a colon.
static int take_bracketed(const char *text, const char *host, size_t len,
                          const struct place *at, struct hostword *w, struct err *err)
{
    const char *close = memchr(host, ']', len);
    w->host = host + 1;
    w->host_len = (size_t)(close - host) - 1;
    w->literal6 = w->bracketed = true;
    const char *rest = close + 1;
    size_t rest_len = len - w->host_len - 2;
    struct sockaddr_storage addr;
    if (!hostname_literal(w->host, w->host_len, &addr) || addr.ss_family != AF_INET6)
        return place_fail(at, (size_t)(host - text), "HF_BAD_NAME", err,
                          "'%.*s' holds no IPv6 address%s", place_shown(len), host,
                          memchr(host, '%', len) != NULL ? " (zones do not work)" : "");
    if (rest_len == 0)
        return 0;
    if (rest[0] != ':')
        return place_fail(at, (size_t)(rest - text), "HF_SYNTAX", err,
                          "'%.*s' behind the brackets: only :COUNT may follow",
                          place_shown(rest_len), rest);
    return take_count(text, rest + 1, rest_len - 1, at, w, err);
}

// Two colons or more and no brackets.
static int take_bare6(const char *text, const char *host, size_t len,
                      const struct place *at, struct hostword *w, struct err *err)
{
    struct sockaddr_storage addr;
    const char *last = memrchr(host, ':', len);
    size_t head = (size_t)(last - host);
    bool tail_counts =
        hostword_number(last + 1, len - head - 1, HOSTWORD_SLOTS_MAX) >= 0;
    bool split = tail_counts && hostname_literal(host, head, &addr);
    w->literal6 = true;
    w->ambiguous = split;
    if (hostname_literal(host, len, &addr))
        return 0;
    if (split)
        return place_fail(at, (size_t)(host - text), "HF_BAD_NAME", err,
                          "'%.*s' is no IPv6 address: with a count it is [%.*s]%.*s",
                          place_shown(len), host, (int)head, host, (int)(len - head),
                          last);
    return place_fail(at, (size_t)(host - text), "HF_BAD_NAME", err,
                      "'%.*s' is neither NAME:COUNT nor an IPv6 address%s",
                      place_shown(len), host,
                      memchr(host, '%', len) != NULL ? " (zones do not work)" : "");
}

static size_t colons(const char *s, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += s[i] == ':' ? 1 : 0;
    return n;
}

// "[" of an IPv6 literal, not of a range: a colon stands inside.
static bool opens_literal(const char *host, size_t len)
{
    const char *close = len > 0 && host[0] == '[' ? memchr(host, ']', len) : NULL;
    return close != NULL && memchr(host, ':', (size_t)(close - host)) != NULL;
}

int hostword_parse(const char *text, size_t len, const struct place *at,
                   struct hostword *out, struct err *err)
{
    *out = (struct hostword){.count = -1};
    if (len > HOSTWORD_MAX)
        return place_fail(at, 0, "HF_BAD_NAME", err, "a word of more than %d bytes",
                          HOSTWORD_MAX);
    if (take_user(text, len, at, out, err) < 0)
        return -1;
    const char *host = out->user != NULL ? text + out->user_len + 1 : text;
    size_t host_len = len - (size_t)(host - text);
    out->host = host;
    out->host_len = host_len;
    if (host_len == 0)
        return place_fail(at, (size_t)(host - text), "HF_SYNTAX", err,
                          "a host name is missing");
    if (opens_literal(host, host_len))
        return take_bracketed(text, host, host_len, at, out, err);
    size_t n = colons(host, host_len);
    if (n > 1)
        return take_bare6(text, host, host_len, at, out, err);
    if (n == 0)
        return 0;
    const char *colon = memchr(host, ':', host_len);
    out->host_len = (size_t)(colon - host);
    if (out->host_len == 0)
        return place_fail(at, (size_t)(host - text), "HF_SYNTAX", err,
                          "a host name is missing in front of '%.*s'",
                          place_shown(host_len), host);
    return take_count(text, colon + 1, host_len - out->host_len - 1, at, out, err);
}

int hostword_names(const struct hostword *w, const char *text, const struct place *at,
                   struct strv *out, struct err *err)
{
    struct place here = *at;
    here.column += (size_t)(w->host - text);
    if (w->literal6 || memchr(w->host, '[', w->host_len) == NULL) {
        if (hostname_check(w->host, w->host_len, &here, err) < 0)
            return -1;
        strv_add_steal(out, xstrndup(w->host, w->host_len));
        return 0;
    }
    size_t first = out->n;
    if (ranges_expand(w->host, w->host_len, &here, out, err) < 0)
        return -1;
    for (size_t i = first; i < out->n; i++)
        if (hostname_check(out->v[i], strlen(out->v[i]), &here, err) < 0)
            return -1;
    return 0;
}
