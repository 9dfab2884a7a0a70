// Read-only pages over HTTP in the event loop: probes and metrics.
//
// Each connection is one request and one answer: READING -> ANSWERING -> gone, all of it
// within HTTPD_LIFE_MS. At most HTTPD_CONNECTIONS_MAX are held; one more takes the place of
// the oldest, so that nobody who holds them keeps a probe out.
#ifndef MUSTER_COMMON_HTTPD_H
#define MUSTER_COMMON_HTTPD_H

#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

struct event_base;
struct httpd;
struct log;

enum { HTTPD_CONNECTIONS_MAX = 32, HTTPD_LIFE_MS = 5000 };

struct httpd_page {
    const char *path; // "/metrics"
    const char *type; // media type
    // Appends the body and returns the status: 200 or 503. Called for each request.
    int (*render)(const void *arg, struct buf *body);
};

// Listens at `where` (listener.h). Pages are borrowed.
struct httpd *httpd_create(struct event_base *base, const char *where,
                           const struct httpd_page *pages, size_t n, const void *arg,
                           struct log *log, struct err *err);
int httpd_port(const struct httpd *h);
void httpd_destroy(struct httpd *h); // NULL-safe

#endif
