// HTTP/1.x as far as a read-only page needs it: a request's head, an answer's head. Pure.
//
// RFC 9112. GET and HEAD of a path, nothing else: no bodies, no keep-alive.
#ifndef MUSTER_COMMON_HTTPREQ_H
#define MUSTER_COMMON_HTTPREQ_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

enum { HTTPREQ_HEAD_MAX = 8192 };

struct httpreq {
    int status;       // 0: a path is asked for; else the refusal (400, 405, 431, 505)
    bool head;        // HEAD: no body
    const char *path; // in the text; without what follows '?'
    size_t path_len;
};

// False: the head is not whole yet, and may become it.
bool httpreq_parse(const char *text, size_t len, struct httpreq *out);
// Is it asked for this very path?
bool httpreq_is(const struct httpreq *r, const char *path);
// Appends an answer; `head`: without the body. `type` is a media type.
void httpreq_answer(struct buf *out, int status, const char *type,
                    const struct buf *body, bool head);

#endif
