// Pages over HTTP: what is asked, what is answered, and nobody holds the door.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/httpd.h"
#include "common/httpreq.h"
#include "common/jsontext.h"
#include "common/listener.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/promtext.h"

// ---- texts ------------------------------------------------------------------------

Test(httpreq, what_a_request_is_answered_with)
{
    static const struct {
        const char *text;
        int status; // -1: more has to come
        bool head;
        const char *path;
    } cases[] = {
        {"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 0, false, "/healthz"},
        {"GET /metrics?name=x HTTP/1.0\n\n", 0, false, "/metrics"},
        {"HEAD /readyz HTTP/1.1\r\n\r\n", 0, true, "/readyz"},
        {"GET / HTTP/1.1\r\n\r\nrest", 0, false, "/"},
        {"GET /healthz HTTP/1.1\r\nHost: x\r\n", -1, false, ""},
        {"GET", -1, false, ""},
        {"", -1, false, ""},
        {"POST /healthz HTTP/1.1\r\n\r\n", 405, false, ""},
        {"get /healthz HTTP/1.1\r\n\r\n", 405, false, ""},
        {"GET http://x/healthz HTTP/1.1\r\n\r\n", 400, false, ""},
        {"GET /healthz HTTP/2.0\r\n\r\n", 505, false, ""},
        {"GET /healthz\r\n\r\n", 400, false, ""},
        {"GET /a b HTTP/1.1\r\n\r\n", 400, false, ""},
        {"GET /\x01 HTTP/1.1\r\n\r\n", 400, false, ""},
        {" GET / HTTP/1.1\r\n\r\n", 400, false, ""},
        {"\r\n\r\n", 400, false, ""},
        {"\n\n", 400, false, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct httpreq r;
        bool whole = httpreq_parse(cases[i].text, strlen(cases[i].text), &r);
        cr_assert_eq(whole, cases[i].status >= 0, "case %zu", i);
        if (!whole)
            continue;
        cr_assert_eq(r.status, cases[i].status, "case %zu: %d", i, r.status);
        if (r.status == 0) {
            cr_assert_eq(r.head, cases[i].head);
            cr_assert(httpreq_is(&r, cases[i].path), "case %zu", i);
        }
        cr_assert_not(httpreq_is(&r, "/other"));
    }
}

Test(httpreq, a_head_without_an_end_is_refused)
{
    static char text[HTTPREQ_HEAD_MAX + 1];
    struct httpreq r;
    memset(text, 'a', sizeof text);
    memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
    cr_assert_not(httpreq_parse(text, HTTPREQ_HEAD_MAX, &r));
    cr_assert(httpreq_parse(text, sizeof text, &r));
    cr_assert_eq(r.status, 431);
}

Test(httpreq, bodies_are_taken_where_they_are_wanted)
{
    static const struct {
        const char *text;
        int status;
        size_t body_len;
        bool expects;
    } cases[] = {
        {"POST /x HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 0, 3, false},
        {"POST /x HTTP/1.1\ncontent-length:\t3 \nExpect: 100-Continue\n\n", 0, 3, true},
        {"GET /x HTTP/1.1\r\nContent-Length: 3\r\n\r\n", 0, 0, false},
        {"POST /x HTTP/1.1\r\n\r\n", 411, 0, false},
        {"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411, 0, false},
        {"POST /x HTTP/1.1\r\nContent-Length: 11\r\n\r\n", 413, 0, false},
        {"POST /x HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 413, 0,
         false},
        {"POST /x HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, 0, false},
        {"POST /x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400, 0,
         false},
        {"POST /x HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         400, 0, false},
        {"POST /x HTTP/1.1\r\nHost\r\n\r\n", 400, 0, false},
        {"POST /x HTTP/1.1\r\nHost : x\r\n\r\n", 400, 0, false},
        {"POST /x HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400, 0, false},
        {"PUT /x HTTP/1.1\r\nContent-Length: 1\r\n\r\n", 405, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct httpreq r;
        cr_assert(httpreq_parse_post(cases[i].text, strlen(cases[i].text), 10, &r));
        cr_assert_eq(r.status, cases[i].status, "case %zu: %d", i, r.status);
        cr_assert_eq(r.body_len, cases[i].body_len, "case %zu", i);
        cr_assert_eq(r.expects, cases[i].expects, "case %zu", i);
        if (r.status == 0 && r.post)
            cr_assert_eq(cases[i].text[r.body_at - 1], '\n');
    }
}

Test(promtext, labels_hold_any_text)
{
    BUF_AUTO out = BUF_INIT;
    promtext_head(&out, "m_total", PROMTEXT_COUNTER, "Help.");
    promtext_sample(&out, "m_total", "file", "a\"b\\c\nd", 1234567890123.0);
    promtext_one(&out, "g", PROMTEXT_GAUGE, "Help.", 0.25);
    CLEANUP_FREE char *text = buf_steal_str(&out);
    cr_assert_str_eq(text, "# HELP m_total Help.\n# TYPE m_total counter\n"
                           "m_total{file=\"a\\\"b\\\\c\\nd\"} 1234567890123\n"
                           "# HELP g Help.\n# TYPE g gauge\ng 0.25\n");
}

Test(jsontext, what_is_no_utf8_is_json_all_the_same)
{
    BUF_AUTO out = BUF_INIT;
    jsontext_string(&out, "a\"b\\c\n\x7f \xc3\xa4 \xff\xc3");
    CLEANUP_FREE char *text = buf_steal_str(&out);
    cr_assert_str_eq(text, "\"a\\\"b\\\\c\\u000a\\u007f \xc3\xa4 \\ufffd\\ufffd\"");
}

// ---- the server -------------------------------------------------------------------

struct bed {
    struct event_base *base;
    struct httpd *httpd;
    struct buf got;
    bool ended;
};

static int render_ok(const void *arg, struct buf *body)
{
    buf_append_str(body, "all is well\n");
    return 200;
}

static int render_big(const void *arg, struct buf *body)
{
    for (int i = 0; i < 300000; i++)
        buf_append_str(body, "0123456789");
    return 200;
}

static void start(struct bed *b)
{
    static const struct httpd_page pages[] = {{"/ok", "text/plain", render_ok},
                                              {"/big", "text/plain", render_big}};
    ERR_AUTO err = ERR_INIT;
    *b = (struct bed){.base = loop_create()};
    b->httpd = httpd_create(b->base, "0", pages, 2, NULL, NULL, &err);
    cr_assert_not_null(b->httpd, "%s", err_text(&err));
}

static void stop(struct bed *b)
{
    httpd_destroy(b->httpd);
    loop_destroy(b->base);
    buf_free(&b->got);
}

static int dial(const struct bed *b)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)httpd_port(b->httpd)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void on_answer(int fd, short what, void *arg)
{
    struct bed *b = arg;
    uint8_t *room = buf_reserve(&b->got, 65536);
    ssize_t n = read(fd, room, 65536);
    if (n > 0)
        buf_commit(&b->got, (size_t)n);
    else
        event_base_loopbreak(b->base);
}

// Reads to the end of the connection. Caller frees.
static char *hear(struct bed *b, int fd)
{
    struct event *e = event_new(b->base, fd, EV_READ | EV_PERSIST, on_answer, b);
    buf_clear(&b->got);
    event_add(e, NULL);
    event_base_dispatch(b->base);
    event_free(e);
    close(fd);
    return buf_steal_str(&b->got);
}

static char *ask(struct bed *b, const char *text)
{
    int fd = dial(b);
    cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    return hear(b, fd);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

Test(httpd, answers_and_closes, .timeout = 30)
{
    struct bed b;
    start(&b);
    CLEANUP_FREE char *ok = ask(&b, "GET /ok HTTP/1.1\r\n\r\n");
    cr_assert(begins(ok, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"));
    cr_assert_not_null(strstr(ok, "Content-Length: 12\r\n"));
    cr_assert_not_null(strstr(ok, "Connection: close\r\n\r\nall is well\n"));
    CLEANUP_FREE char *head = ask(&b, "HEAD /ok HTTP/1.1\r\n\r\n");
    cr_assert_not_null(strstr(head, "Content-Length: 12\r\n"));
    cr_assert_null(strstr(head, "well"));
    CLEANUP_FREE char *none = ask(&b, "GET /no HTTP/1.1\r\n\r\n");
    cr_assert(begins(none, "HTTP/1.1 404 "));
    cr_assert_not_null(strstr(none, "\r\n\r\n/ok\n/big\n"));
    CLEANUP_FREE char *post = ask(&b, "POST /ok HTTP/1.1\r\n\r\n");
    cr_assert(begins(post, "HTTP/1.1 405 "));
    cr_assert_not_null(strstr(post, "Allow: GET, HEAD\r\n"));
    CLEANUP_FREE char *big = ask(&b, "GET /big HTTP/1.1\r\n\r\n");
    const char *body = strstr(big, "\r\n\r\n");
    cr_assert_not_null(body);
    cr_assert_eq(strlen(body + 4), 3000000);
    stop(&b);
}

Test(httpd, idle_connections_keep_nobody_out, .timeout = 30)
{
    struct bed b;
    int idle[HTTPD_CONNECTIONS_MAX + 8];
    start(&b);
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        idle[i] = dial(&b);
    for (int i = 0; i < 3; i++) {
        CLEANUP_FREE char *ok = ask(&b, "GET /ok HTTP/1.1\r\n\r\n");
        cr_assert(begins(ok, "HTTP/1.1 200 "));
    }
    char c;
    cr_assert_eq(read(idle[0], &c, 1), 0); // the oldest made room
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        close(idle[i]);
    stop(&b);
}

Test(httpd, who_says_nothing_is_hung_up_on, .timeout = 60)
{
    struct bed b;
    start(&b);
    uint64_t begun = loop_now_ms();
    CLEANUP_FREE char *nothing = hear(&b, dial(&b));
    cr_assert_str_eq(nothing, "");
    cr_assert_geq(loop_now_ms() - begun, HTTPD_LIFE_MS - 1000);
    stop(&b);
}

Test(httpd, places_to_listen_at)
{
    static const char *const good[] = {"9400", "0.0.0.0:9400", "[::]:9400",
                                       "127.0.0.1:0", "[fd00::1]:65535"};
    static const char *const bad[] = {"",       "http",        "65536",   "1.2.3:80",
                                      "::1:80", "1.2.3.4:",    "[::1]",   "1.2.3.4:-1",
                                      ":80",    "[::1:80",     "host:80", "123456",
                                      "1 ",     "[1.2.3.4]:80"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_assert_eq(listener_check(good[i], NULL), 0, "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ERR_AUTO err = ERR_INIT;
        cr_assert_eq(listener_check(bad[i], &err), -1, "%s", bad[i]);
        cr_assert_not_null(strstr(err.text, "0.0.0.0:9400"));
    }
}
