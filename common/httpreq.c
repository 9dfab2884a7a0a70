// The first line counts; header fields are passed over.
#include "common/httpreq.h"

#include <string.h>

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
static int parse_line(const char *at, const char *end, struct httpreq *out)
{
    for (const char *c = at; c < end; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            return 400;
    const char *method = memchr(at, ' ', (size_t)(end - at));
    if (method == NULL || method == at)
        return 400;
    out->head = take_word(&at, end, "HEAD ");
    if (!out->head && !take_word(&at, end, "GET "))
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

bool httpreq_parse(const char *text, size_t len, struct httpreq *out)
{
    *out = (struct httpreq){0};
    size_t end = head_end(text, len);
    if (end == 0 && len <= HTTPREQ_HEAD_MAX)
        return false;
    if (end == 0 || end > HTTPREQ_HEAD_MAX) {
        out->status = 431;
        return true;
    }
    const char *line_end = memchr(text, '\n', end);
    line_end -= line_end > text && line_end[-1] == '\r' ? 1 : 0;
    out->status = parse_line(text, line_end, out);
    return true;
}

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
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Error";
    }
}

void httpreq_answer(struct buf *out, int status, const char *type,
                    const struct buf *body, bool head)
{
    buf_printf(out,
               "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
               "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
               "%sConnection: close\r\n\r\n",
               status, reason(status), type, buf_len(body),
               status == 405 ? "Allow: GET, HEAD\r\n" : "");
    if (!head && buf_len(body) > 0)
        buf_append(out, buf_data(body), buf_len(body));
}
