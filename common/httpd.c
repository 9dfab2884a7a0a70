// One listener, and connections that end soon.
#include "common/httpd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/httpreq.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"

enum { PAUSE_MS = 1000 }; // when no connection can be taken

enum state { CONN_READING, CONN_ANSWERING };

struct conn {
    struct httpd *httpd;
    enum state state;
    struct bufferevent *io;
    struct event *deadline;
    struct conn *prev, *next;
};

struct httpd {
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *pause;
    const struct httpd_page *pages;
    size_t npages;
    const void *arg;
    struct log *log;
    struct conn *conns; // the oldest first
    size_t nconns;
};

// ---- a connection -----------------------------------------------------------------

static void end(struct conn *c)
{
    DL_DELETE(c->httpd->conns, c);
    c->httpd->nconns--;
    bufferevent_free(c->io);
    loop_timer_free(c->deadline);
    free(c);
}

static int render(const struct httpd *h, const struct httpreq *r, struct buf *body,
                  const char **type)
{
    for (size_t i = 0; i < h->npages; i++) {
        if (!httpreq_is(r, h->pages[i].path))
            continue;
        *type = h->pages[i].type;
        return h->pages[i].render(h->arg, body);
    }
    if (r->status != 0)
        return r->status;
    for (size_t i = 0; i < h->npages; i++)
        buf_printf(body, "%s\n", h->pages[i].path);
    return 404;
}

static void answer(struct conn *c, const struct httpreq *r)
{
    BUF_AUTO body = BUF_INIT, all = BUF_INIT;
    const char *type = "text/plain; charset=utf-8";
    int status = render(c->httpd, r, &body, &type);
    httpreq_answer(&all, status, type, &body, r->head);
    c->state = CONN_ANSWERING;
    bufferevent_disable(c->io, EV_READ);
    bufferevent_write(c->io, buf_data(&all), buf_len(&all));
}

static void on_read(struct bufferevent *io, void *arg)
{
    struct conn *c = arg;
    struct httpreq r;
    struct evbuffer *in = bufferevent_get_input(io);
    size_t n = evbuffer_get_length(in);
    if (c->state == CONN_READING &&
        httpreq_parse((const char *)evbuffer_pullup(in, -1), n, &r))
        answer(c, &r);
}

static void on_written(struct bufferevent *io, void *arg)
{
    struct conn *c = arg;
    if (c->state == CONN_ANSWERING)
        end(c);
}

static void on_event(struct bufferevent *io, short what, void *arg)
{
    end(arg); // closed by the peer, or an error
}

static void on_deadline(int fd, short what, void *arg)
{
    end(arg);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd,
                      struct sockaddr *from, int len, void *arg)
{
    struct httpd *h = arg;
    struct bufferevent *io = bufferevent_socket_new(h->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (io == NULL) {
        evutil_closesocket(fd);
        return;
    }
    if (h->nconns == HTTPD_CONNECTIONS_MAX)
        end(h->conns);
    struct conn *c = xcalloc(1, sizeof *c);
    *c = (struct conn){.httpd = h, .io = io};
    c->deadline = loop_timer(h->base, on_deadline, c);
    loop_timer_arm(c->deadline, HTTPD_LIFE_MS);
    DL_APPEND(h->conns, c);
    h->nconns++;
    bufferevent_setcb(io, on_read, on_written, on_event, c);
    bufferevent_setwatermark(io, EV_READ, 0, HTTPREQ_HEAD_MAX + 1);
    bufferevent_enable(io, EV_READ | EV_WRITE);
}

// ---- the listener -----------------------------------------------------------------

static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    struct httpd *h = arg;
    log_warn(h->log, "http: no connection can be taken: %s", strerror(errno));
    evconnlistener_disable(listener);
    loop_timer_arm(h->pause, PAUSE_MS);
}

static void on_pause_over(int fd, short what, void *arg)
{
    evconnlistener_enable(((struct httpd *)arg)->listener);
}

// -1: it is no port.
static int parse_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    long port =
        digits > 0 && digits <= 5 && text[digits] == '\0' ? strtol(text, NULL, 10) : -1;
    return port <= 65535 ? (int)port : -1;
}

// "PORT" or "ADDRESS:PORT". False: it is neither.
static bool parse_where(const char *where, struct sockaddr_storage *addr, int *len)
{
    const char *colon = strrchr(where, ':');
    CLEANUP_FREE char *address =
        colon != NULL ? xstrndup(where, (size_t)(colon - where)) : xstrdup("127.0.0.1");
    int port = parse_port(colon != NULL ? colon + 1 : where);
    *len = sizeof *addr;
    if (port < 0 || (address[0] != '[' && strchr(address, ':') != NULL) ||
        evutil_parse_sockaddr_port(address, (struct sockaddr *)addr, len) < 0)
        return false;
    if (addr->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)addr)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)addr)->sin_port = htons((uint16_t)port);
    return true;
}

int httpd_check(const char *where, struct err *err)
{
    struct sockaddr_storage addr;
    int len;
    if (parse_where(where, &addr, &len))
        return 0;
    err_set(err,
            "%s is no place to listen at: give PORT (on 127.0.0.1), ADDRESS:PORT or "
            "[IPV6]:PORT, as 0.0.0.0:9400",
            where);
    return -1;
}

// False with all of it empty: the kernel does not tell.
static bool own_address(const struct httpd *h, struct sockaddr_storage *out)
{
    socklen_t len = sizeof *out;
    *out = (struct sockaddr_storage){0};
    return getsockname(evconnlistener_get_fd(h->listener), (struct sockaddr *)out,
                       &len) == 0;
}

int httpd_port(const struct httpd *h)
{
    struct sockaddr_storage at;
    own_address(h, &at);
    return ntohs(at.ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)&at)->sin6_port
                     : ((const struct sockaddr_in *)&at)->sin_port);
}

static void say_where(const struct httpd *h)
{
    struct sockaddr_storage at;
    char text[INET6_ADDRSTRLEN] = "?";
    own_address(h, &at);
    bool v6 = at.ss_family == AF_INET6;
    inet_ntop(at.ss_family,
              v6 ? (const void *)&((const struct sockaddr_in6 *)&at)->sin6_addr
                 : (const void *)&((const struct sockaddr_in *)&at)->sin_addr,
              text, sizeof text);
    log_info(h->log, v6 ? "http: listens at [%s]:%d" : "http: listens at %s:%d", text,
             httpd_port(h));
}

struct httpd *httpd_create(struct event_base *base, const char *where,
                           const struct httpd_page *pages, size_t n, const void *arg,
                           struct log *log, struct err *err)
{
    enum { FLAGS = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE };
    struct sockaddr_storage addr;
    int len;
    if (httpd_check(where, err) < 0 || !parse_where(where, &addr, &len))
        return NULL;
    struct httpd *h = xcalloc(1, sizeof *h);
    *h = (struct httpd){
        .base = base, .pages = pages, .npages = n, .arg = arg, .log = log};
    h->listener = evconnlistener_new_bind(base, on_accept, h, FLAGS, -1,
                                          (struct sockaddr *)&addr, len);
    if (h->listener == NULL) {
        err_set_errno(err, errno, "cannot listen at %s", where);
        free(h);
        return NULL;
    }
    evconnlistener_set_error_cb(h->listener, on_accept_error);
    h->pause = loop_timer(base, on_pause_over, h);
    say_where(h);
    return h;
}

void httpd_destroy(struct httpd *h)
{
    if (h == NULL)
        return;
    while (h->conns != NULL)
        end(h->conns);
    loop_timer_free(h->pause);
    evconnlistener_free(h->listener);
    free(h);
}
