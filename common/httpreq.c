// The first line counts; of the header fields those that say how long a body is.
#include "common/httpreq.h"

#include <string.h>
#include <strings.h>

#include "common/mem.h"

// Where the head ends (behind the empty line), 0: not yet.
static size_t head_end(const char *text, size_t len)
{
    for (size_t i = 0; i + 1 < len; i++) {
        if (text[i] != '\n')
            continue;
        size_t next = i + 1 + (text[i + 1] == '\r' && i + 2 < len);
        if (text[next] == '\n')
            return next + 1;
    }
    return 0;
}

static bool take_word(const char **at, const char *end, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(end - *at) < n || memcmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

static bool is_version(const char *at, const char *end)
{
    return end - at == 8 && memcmp(at, "HTTP/1.", 7) == 0 && at[7] >= '0' &&
           at[7] <= '9';
}

// METHOD SP PATH SP VERSION, without the line's end. Returns the status.
static int parse_line(const char *at, const char *end, bool post, struct httpreq *out)
{
    for (const char *c = at; c < end; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            return 400;
    const char *method = memchr(at, ' ', (size_t)(end - at));
    if (method == NULL || method == at)
        return 400;
    out->head = take_word(&at, end, "HEAD ");
    out->post = post && take_word(&at, end, "POST ");
    if (!out->head && !out->post && !take_word(&at, end, "GET "))
        return 405;
    const char *blank = memchr(at, ' ', (size_t)(end - at));
    if (blank == NULL || *at != '/')
        return 400;
    if (!is_version(blank + 1, end))
        return end - blank > 5 && memcmp(blank + 1, "HTTP/", 5) == 0 ? 505 : 400;
    const char *query = memchr(at, '?', (size_t)(blank - at));
    out->path = at;
    out->path_len = (size_t)((query != NULL ? query : blank) - at);
    return 0;
}

// The head's first line. False: the head is not whole yet.
static bool parse_head(const char *text, size_t len, bool post, struct httpreq *out)
{
    *out = (struct httpreq){0};
    size_t end = head_end(text, len);
    if (end == 0 && len <= HTTPREQ_HEAD_MAX)
        return false;
    if (end == 0 || end > HTTPREQ_HEAD_MAX) {
        out->status = 431;
        return true;
    }
    out->body_at = end;
    const char *line_end = memchr(text, '\n', end);
    line_end -= line_end > text && line_end[-1] == '\r' ? 1 : 0;
    out->status = parse_line(text, line_end, post, out);
    return true;
}

bool httpreq_parse(const char *text, size_t len, struct httpreq *out)
{
    return parse_head(text, len, false, out);
}

// ---- bodies -----------------------------------------------------------------------

struct body_fields {
    bool length_there, chunks;
    size_t length;
};

static bool is_name(const char *at, size_t n, const char *name)
{
    return n == strlen(name) && strncasecmp(at, name, n) == 0;
}

// Digits of a length, capped. False: it is none.
static bool parse_length(const char *at, const char *end, size_t *out)
{
    enum { CAP = 1 << 30 };
    *out = 0;
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        *out = *out * 10 + (size_t)(*at - '0');
        *out = *out > CAP ? CAP : *out;
    }
    return true;
}

// "Name: value" without the line's end. Returns the status.
static int parse_field(const char *at, const char *end, struct body_fields *f,
                       struct httpreq *out)
{
    const char *colon = memchr(at, ':', (size_t)(end - at));
    if (colon == NULL || colon == at || *at == ' ' || *at == '\t' || colon[-1] == ' ' ||
        colon[-1] == '\t')
        return 400;
    size_t name = (size_t)(colon - at);
    const char *value = colon + 1;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (is_name(at, name, "Transfer-Encoding"))
        f->chunks = true;
    if (is_name(at, name, "Expect") &&
        is_name(value, (size_t)(end - value), "100-continue"))
        out->expects = true;
    if (!is_name(at, name, "Content-Length"))
        return 0;
    if (f->length_there || !parse_length(value, end, &f->length))
        return 400;
    f->length_there = true;
    return 0;
}

static int parse_fields(const char *at, const char *end, struct body_fields *f,
                        struct httpreq *out)
{
    while (at < end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        if (next == NULL)
            return 400;
        const char *line_end = next > at && next[-1] == '\r' ? next - 1 : next;
        if (line_end == at)
            return 0;
        int status = parse_field(at, line_end, f, out);
        if (status != 0)
            return status;
        at = next + 1;
    }
    return 0;
}

bool httpreq_parse_post(const char *text, size_t len, size_t body_max,
                        struct httpreq *out)
{
    struct body_fields f = {0};
    if (!parse_head(text, len, true, out))
        return false;
    if (out->status != 0)
        return true;
    const char *fields = (const char *)memchr(text, '\n', out->body_at) + 1;
    int status = parse_fields(fields, text + out->body_at, &f, out);
    if (status == 0 && out->post)
        status = f.chunks && f.length_there ? 400
                 : !f.length_there          ? 411
                 : f.length > body_max      ? 413
                                            : 0;
    out->status = status;
    out->body_len = out->post && status == 0 ? f.length : 0;
    return true;
}

// ---- what is asked, and answers ---------------------------------------------------

bool httpreq_is(const struct httpreq *r, const char *path)
{
    return r->status == 0 && r->path_len == strlen(path) &&
           memcmp(r->path, path, r->path_len) == 0;
}

static const char *reason(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Error";
    }
}

void httpreq_answer(struct buf *out, int status, const char *type,
                    const struct buf *body, bool head, const char *methods)
{
    CLEANUP_FREE char *allow =
        status == 405 ? xasprintf("Allow: %s\r\n", methods) : NULL;
    buf_printf(out,
               "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
               "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
               "%sConnection: close\r\n\r\n",
               status, reason(status), type, buf_len(body), allow != NULL ? allow : "");
    if (!head && buf_len(body) > 0)
        buf_append(out, buf_data(body), buf_len(body));
}

void httpreq_answer_begin(struct buf *out, const char *type)
{
    buf_printf(out,
               "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nCache-Control: no-store\r\n"
               "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
               type);
}
