// Requests with bodies over HTTP: what they keep, and who has to go when there are too many.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <event2/event.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "kernels/infer/http.h"

struct bed {
    struct event_base *base;
    struct http *http;
    int port;
    size_t waiting; // exchanges that have no answer
};

// "/wait" gets none.
static void on_request(void *arg, struct http_exchange *x, const struct httpreq *r,
                       const char *body)
{
    struct bed *b = arg;
    BUF_AUTO answer = BUF_INIT;
    if (httpreq_is(r, "/wait")) {
        b->waiting++;
        return;
    }
    buf_printf(&answer, "%zu bytes", r->body_len);
    http_answer(x, 200, "text/plain", &answer);
}

static const char *on_refuse(void *arg, int status, struct buf *body)
{
    buf_append_str(body, "refused\n");
    return "text/plain";
}

static void on_gone(void *arg, struct http_exchange *x)
{
    struct bed *b = arg;
    b->waiting--;
}

static void start(struct bed *b, size_t most)
{
    ERR_AUTO err = ERR_INIT;
    const struct http_owner owner = {
        .arg = b, .request = on_request, .refuse = on_refuse, .gone = on_gone};
    *b = (struct bed){.base = loop_create()};
    b->http = http_create(b->base, "0", most, &owner, NULL, &err);
    cr_assert_not_null(b->http, "%s", err_text(&err));
    b->port = http_port(b->http);
}

static void stop(struct bed *b)
{
    http_destroy(b->http);
    loop_destroy(b->base);
}

static int dial(const struct bed *b)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)b->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

// The server goes on until fd is ready.
static void serve_until(const struct bed *b, int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    while (poll(&p, 1, 1) == 0)
        event_base_loop(b->base, EVLOOP_NONBLOCK);
}

static void say(const struct bed *b, int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            text += sent;
            n -= (size_t)sent;
        }
        serve_until(b, fd, POLLOUT);
        event_base_loop(b->base, EVLOOP_NONBLOCK);
    }
}

// What comes until the connection ends. Caller frees.
static char *hear(const struct bed *b, int fd)
{
    BUF_AUTO got = BUF_INIT;
    for (;;) {
        char text[512];
        serve_until(b, fd, POLLIN);
        ssize_t n = recv(fd, text, sizeof text, 0);
        if (n <= 0)
            break;
        buf_append(&got, text, (size_t)n);
    }
    close(fd);
    return buf_steal_str(&got);
}

static void expect(const struct bed *b, int fd, const char *request, const char *part)
{
    say(b, fd, request, strlen(request));
    CLEANUP_FREE char *answer = hear(b, fd);
    cr_assert_not_null(strstr(answer, part), "%s", answer);
}

static bool is_open(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) < 0;
}

static void wait_there(struct bed *b, int fd)
{
    static const char request[] = "GET /wait HTTP/1.1\r\n\r\n";
    size_t before = b->waiting;
    say(b, fd, request, strlen(request));
    while (b->waiting == before)
        event_base_loop(b->base, EVLOOP_NONBLOCK);
}

Test(infer_http, who_waits_does_not_keep_its_body, .timeout = 60)
{
    enum { CLIENTS = 8, BODY = HTTP_BODY_MAX };
    struct bed b;
    int fds[CLIENTS];
    CLEANUP_FREE char *body = xmalloc(BODY);
    CLEANUP_FREE char *head =
        xasprintf("POST /wait HTTP/1.1\r\nContent-Length: %d\r\n\r\n", BODY);
    memset(body, 'x', BODY);
    start(&b, CLIENTS);
    struct mallinfo2 before = mallinfo2();
    for (size_t i = 0; i < CLIENTS; i++) {
        fds[i] = dial(&b);
        say(&b, fds[i], head, strlen(head));
        say(&b, fds[i], body, BODY);
        while (b.waiting <= i)
            event_base_loop(b.base, EVLOOP_NONBLOCK);
    }
    struct mallinfo2 after = mallinfo2();
    cr_assert_lt(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + BODY);
    for (size_t i = 0; i < CLIENTS; i++)
        close(fds[i]);
    while (b.waiting > 0)
        event_base_loop(b.base, EVLOOP_ONCE);
    stop(&b);
}

Test(infer_http, the_oldest_that_asks_nothing_makes_room, .timeout = 60)
{
    struct bed b;
    int idle[3];
    start(&b, 3);
    for (int i = 0; i < 3; i++)
        idle[i] = dial(&b);
    expect(&b, dial(&b), "POST /x HTTP/1.1\r\nContent-Length: 2\r\n\r\nab", "2 bytes");
    cr_assert_not(is_open(idle[0]));
    cr_assert(is_open(idle[1]) && is_open(idle[2]));
    for (int i = 0; i < 3; i++)
        close(idle[i]);
    stop(&b);
}

Test(infer_http, who_waits_for_an_answer_stays, .timeout = 60)
{
    struct bed b;
    int waiting[2];
    start(&b, 2);
    for (int i = 0; i < 2; i++) {
        waiting[i] = dial(&b);
        wait_there(&b, waiting[i]);
    }
    for (int i = 0; i < 3; i++)
        expect(&b, dial(&b), "GET /x HTTP/1.1\r\n\r\n", "0 bytes");
    cr_assert(is_open(waiting[0]) && is_open(waiting[1]));
    for (int i = 0; i < 2; i++)
        close(waiting[i]);
    stop(&b);
}

Test(infer_http, another_method_is_told_which_there_are, .timeout = 60)
{
    struct bed b;
    start(&b, 2);
    expect(&b, dial(&b), "PUT /x HTTP/1.1\r\n\r\n", "\r\nAllow: GET, HEAD, POST\r\n");
    stop(&b);
}
