// One listener, and connections that are told apart by their state.
#include "kernels/infer/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/listener.h"
#include "common/loop.h"
#include "common/mem.h"

enum state { EX_READING, EX_OWNED, EX_WRITING, EX_REFUSED, EX_LINGERING };

struct http_exchange {
    struct http *http;
    enum state state;
    bool head;   // no body is wanted
    size_t want; // bytes of the whole request; 0: not known yet
    struct bufferevent *io;
    struct event *deadline; // READING, LINGERING
    struct http_exchange *prev, *next;
};

struct http {
    struct event_base *base;
    struct listener *listener;
    struct http_owner owner;
    struct http_exchange *all; // the oldest first
    size_t n, most;            // one more than `most` when none could be dropped
};

// ---- an exchange ------------------------------------------------------------------

static void end(struct http_exchange *x)
{
    struct http *h = x->http;
    DL_DELETE(h->all, x);
    if (h->n-- > h->most)
        listener_hold(h->listener, false);
    bufferevent_free(x->io);
    loop_timer_free(x->deadline);
    free(x);
}

static void put(struct http_exchange *x, const struct buf *text)
{
    if (buf_len(text) > 0)
        bufferevent_write(x->io, buf_data(text), buf_len(text));
}

void http_answer(struct http_exchange *x, int status, const char *type,
                 const struct buf *body)
{
    BUF_AUTO all = BUF_INIT;
    httpreq_answer(&all, status, type, body, x->head, HTTPREQ_READS_AND_POST);
    put(x, &all);
    x->state = EX_WRITING;
}

void http_begin(struct http_exchange *x, const char *type)
{
    BUF_AUTO head = BUF_INIT;
    httpreq_answer_begin(&head, type);
    put(x, &head);
}

void http_more(struct http_exchange *x, const struct buf *text)
{
    put(x, text);
}

void http_end(struct http_exchange *x)
{
    x->state = EX_WRITING;
    if (evbuffer_get_length(bufferevent_get_output(x->io)) == 0)
        end(x);
}

static void refuse(struct http_exchange *x, int status)
{
    BUF_AUTO body = BUF_INIT;
    const char *type = x->http->owner.refuse(x->http->owner.arg, status, &body);
    http_answer(x, status, type, &body);
    x->state = EX_REFUSED;
}

// The head is there: how long is the whole? 0: it is refused.
static size_t take_head(struct http_exchange *x, const struct httpreq *r, size_t there)
{
    x->head = r->head;
    if (r->status != 0) {
        refuse(x, r->status);
        return 0;
    }
    if (r->expects && there < r->body_at + r->body_len)
        bufferevent_write(x->io, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    return r->body_at + r->body_len;
}

static void read_request(struct http_exchange *x, struct evbuffer *in)
{
    struct httpreq r;
    size_t n = evbuffer_get_length(in);
    if (x->want == 0 &&
        httpreq_parse_post((const char *)evbuffer_pullup(in, -1), n, HTTP_BODY_MAX, &r))
        x->want = take_head(x, &r, n);
    if (x->want == 0 || n < x->want)
        return;
    CLEANUP_FREE char *text = xmalloc(x->want);
    evbuffer_remove(in, text, x->want);
    evbuffer_drain(in, evbuffer_get_length(in));
    httpreq_parse_post(text, x->want, HTTP_BODY_MAX, &r);
    x->state = EX_OWNED;
    loop_timer_disarm(x->deadline);
    x->http->owner.request(x->http->owner.arg, x, &r, text + r.body_at);
}

// ---- its connection ---------------------------------------------------------------

static void on_read(struct bufferevent *io, void *arg)
{
    struct http_exchange *x = arg;
    struct evbuffer *in = bufferevent_get_input(io);
    if (x->state == EX_READING) {
        read_request(x, in);
        return; // it may be gone
    }
    evbuffer_drain(
        in, evbuffer_get_length(in)); // of a request that is refused, or a second
}

static void on_written(struct bufferevent *io, void *arg)
{
    struct http_exchange *x = arg;
    if (x->state == EX_WRITING) {
        end(x);
    } else if (x->state == EX_REFUSED) {
        x->state = EX_LINGERING;
        shutdown(bufferevent_getfd(io), SHUT_WR);
        loop_timer_arm(x->deadline, HTTP_READ_MS);
    }
}

static void on_event(struct bufferevent *io, short what, void *arg)
{
    struct http_exchange *x = arg;
    if (x->state == EX_OWNED)
        x->http->owner.gone(x->http->owner.arg, x);
    end(x);
}

static void on_deadline(int fd, short what, void *arg)
{
    struct http_exchange *x = arg;
    if (x->state == EX_READING || x->state == EX_LINGERING)
        end(x);
}

// Makes room by ending one that we owe nothing, and that is not the newest.
static bool drop_oldest(struct http *h)
{
    for (struct http_exchange *x = h->all; x != NULL && x->next != NULL; x = x->next)
        if (x->state == EX_READING || x->state == EX_LINGERING) {
            end(x);
            return true;
        }
    return false;
}

static void on_accept(void *arg, int fd)
{
    struct http *h = arg;
    struct bufferevent *io = bufferevent_socket_new(h->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (io == NULL) {
        evutil_closesocket(fd);
        return;
    }
    struct http_exchange *x = xcalloc(1, sizeof *x);
    *x = (struct http_exchange){.http = h, .io = io};
    x->deadline = loop_timer(h->base, on_deadline, x);
    loop_timer_arm(x->deadline, HTTP_READ_MS);
    DL_APPEND(h->all, x);
    if (++h->n > h->most && !drop_oldest(h))
        listener_hold(h->listener, true);
    bufferevent_setcb(io, on_read, on_written, on_event, x);
    bufferevent_setwatermark(io, EV_READ, 0, HTTPREQ_HEAD_MAX + 1 + HTTP_BODY_MAX);
    bufferevent_set_timeouts(io, NULL,
                             &(struct timeval){.tv_sec = HTTP_WRITE_MS / 1000});
    bufferevent_enable(io, EV_READ | EV_WRITE);
}

struct http *http_create(struct event_base *base, const char *where, size_t most,
                         const struct http_owner *owner, struct log *log,
                         struct err *err)
{
    struct http *h = xcalloc(1, sizeof *h);
    *h = (struct http){.base = base, .owner = *owner, .most = most};
    h->listener = listener_create(base, where, "http", on_accept, h, log, err);
    if (h->listener != NULL)
        return h;
    free(h);
    return NULL;
}

int http_port(const struct http *h)
{
    return listener_port(h->listener);
}

void http_destroy(struct http *h)
{
    if (h == NULL)
        return;
    while (h->all != NULL)
        end(h->all);
    listener_destroy(h->listener);
    free(h);
}
