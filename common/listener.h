// A TCP listener in the event loop, at a place that a user names.
//
// TAKING, or HELD by its owner, or PAUSED for LISTENER_PAUSE_MS when the kernel gives no connection
// (descriptors are used up), or both: what waits stays in the kernel's queue meanwhile.
#ifndef MUSTER_COMMON_LISTENER_H
#define MUSTER_COMMON_LISTENER_H

#include <stdbool.h>

#include "common/err.h"

struct event_base;
struct listener;
struct log;

enum { LISTENER_PAUSE_MS = 1000 };

// A connection: the descriptor is the callee's, non-blocking, closed by exec.
typedef void listener_fn(void *arg, int fd);

// `where`: "PORT" (on 127.0.0.1), "ADDRESS:PORT" with an IPv6 address in brackets; port 0: any,
// the log says which. `what` is for the log, borrowed.
struct listener *listener_create(struct event_base *base, const char *where,
                                 const char *what, listener_fn *fn, void *arg,
                                 struct log *log, struct err *err);
void listener_destroy(struct listener *l); // NULL-safe
int listener_port(const struct listener *l);
void listener_hold(struct listener *l, bool hold);

// Is it a place to listen at? The error says what is wrong with the text.
int listener_check(const char *where, struct err *err);

#endif
