// HTTP/1.x as far as our servers need it: a request's head, an answer's head. Pure.
//
// RFC 9112. GET and HEAD of a path, for a read-only page nothing else; POST with a
// Content-Length for who takes bodies. No keep-alive.
#ifndef MUSTER_COMMON_HTTPREQ_H
#define MUSTER_COMMON_HTTPREQ_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

enum { HTTPREQ_HEAD_MAX = 8192 };

struct httpreq {
    int status;       // 0: a path is asked for; else the refusal (400, 405, 431, 505;
                      // httpreq_parse_post(): also 411, 413)
    bool head;        // HEAD: no body
    const char *path; // in the text; without what follows '?'
    size_t path_len;
    // httpreq_parse_post() only:
    bool post;       // POST
    size_t body_at;  // where in the text the body begins
    size_t body_len; // of a POST
    bool expects;    // its client waits for "100 Continue"
};

// False: the head is not whole yet, and may become it.
bool httpreq_parse(const char *text, size_t len, struct httpreq *out);
// As httpreq_parse(), and takes POST with a body of at most `body_max` bytes, which need not be
// there yet. Bodies in chunks are refused (411).
bool httpreq_parse_post(const char *text, size_t len, size_t body_max,
                        struct httpreq *out);
// Is it asked for this very path?
bool httpreq_is(const struct httpreq *r, const char *path);
// Appends an answer; `head`: without the body. `type` is a media type; `methods`, for 405, what is
// taken there.
#define HTTPREQ_READS          "GET, HEAD"
#define HTTPREQ_READS_AND_POST "GET, HEAD, POST"
void httpreq_answer(struct buf *out, int status, const char *type,
                    const struct buf *body, bool head, const char *methods);
// Appends the head of an answer with status 200 that goes on until the connection's end.
void httpreq_answer_begin(struct buf *out, const char *type);

#endif
