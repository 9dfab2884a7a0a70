// What muster-sidecar shows over HTTP: /healthz, /readyz, /metrics.
//
// Alive: the loop turns. Ready: the source was read once, or a launcher's roll, and each file
// could be written when it was tried last. Never: that members are there, since with
// not-ready pods hidden from DNS all would wait for each other.
#ifndef MUSTER_SIDECAR_PAGE_H
#define MUSTER_SIDECAR_PAGE_H

#include <stdbool.h>

#include "common/err.h"

struct event_base;
struct follow;
struct hook;
struct httpd;
struct keep;
struct log;

// Borrowed. It may change while pages are served.
struct page {
    const struct keep *keep;
    struct follow *const
        *follow;             // where it stands; NULL there: no source is followed now
    const bool *led;         // where it stands: a launcher's roll was read
    const struct hook *hook; // NULL: none
};

struct httpd *page_serve(struct event_base *base, const char *where,
                         const struct page *p, struct log *log, struct err *err);

#endif
