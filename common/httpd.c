// One listener, and connections that end soon.
#include "common/httpd.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/httpreq.h"
#include "common/listener.h"
#include "common/loop.h"
#include "common/mem.h"

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
    struct listener *listener;
    const struct httpd_page *pages;
    size_t npages;
    const void *arg;
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
    httpreq_answer(&all, status, type, &body, r->head, HTTPREQ_READS);
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

static void on_accept(void *arg, int fd)
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

struct httpd *httpd_create(struct event_base *base, const char *where,
                           const struct httpd_page *pages, size_t n, const void *arg,
                           struct log *log, struct err *err)
{
    struct httpd *h = xcalloc(1, sizeof *h);
    *h = (struct httpd){.base = base, .pages = pages, .npages = n, .arg = arg};
    h->listener = listener_create(base, where, "http", on_accept, h, log, err);
    if (h->listener != NULL)
        return h;
    free(h);
    return NULL;
}

int httpd_port(const struct httpd *h)
{
    return listener_port(h->listener);
}

void httpd_destroy(struct httpd *h)
{
    if (h == NULL)
        return;
    while (h->conns != NULL)
        end(h->conns);
    listener_destroy(h->listener);
    free(h);
}
