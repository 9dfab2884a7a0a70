// Requests with bodies over HTTP, and answers that take their time: what clients talk to.
//
//   READING --the request is whole--> OWNED --its answer is whole--> WRITING --> gone
//      +--- bad: refused --> REFUSED --written--> LINGERING --the client closes--> gone
//   READING and LINGERING end after HTTP_READ_MS, and each state when the client closes, or
//   takes nothing for HTTP_WRITE_MS. (LINGERING: to close with bytes unread would be a reset,
//   and the client would not see why it was refused.)
//
// One request a connection. An exchange is its owner's from request() on until http_answer(),
// http_end(), or gone(); its body's bytes are let go when request() returns. Of more connections
// than `most` the oldest in READING or LINGERING ends; where there is none, further ones wait in
// the kernel's queue.
#ifndef MUSTER_KERNELS_INFER_HTTP_H
#define MUSTER_KERNELS_INFER_HTTP_H

#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/httpreq.h"

struct event_base;
struct http;
struct http_exchange;
struct log;

enum {
    HTTP_SPARE = 64, // connections beside those that wait for an answer
    HTTP_BODY_MAX = 4 << 20,
    HTTP_READ_MS = 10000,
    HTTP_WRITE_MS = 30000,
};

struct http_owner {
    void *arg;
    // A whole request. `r` and `body` are there until this returns.
    void (*request)(void *arg, struct http_exchange *x, const struct httpreq *r,
                    const char *body);
    // The request cannot be taken: appends a body that says so, and returns its media type.
    const char *(*refuse)(void *arg, int status, struct buf *body);
    // The client is gone before its answer was whole; so is the exchange when this returns.
    void (*gone)(void *arg, struct http_exchange *x);
};

// `where` as in common/listener.h; `most` connections at once.
struct http *http_create(struct event_base *base, const char *where, size_t most,
                         const struct http_owner *owner, struct log *log,
                         struct err *err);
int http_port(const struct http *h);
void http_destroy(struct http *h); // NULL-safe; gone() is not called

// The whole answer.
void http_answer(struct http_exchange *x, int status, const char *type,
                 const struct buf *body);
// Or in pieces, from status 200 on: events of text/event-stream.
void http_begin(struct http_exchange *x, const char *type);
void http_more(struct http_exchange *x, const struct buf *text);
void http_end(struct http_exchange *x);

#endif
