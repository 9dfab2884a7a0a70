// One c-ares channel in the event loop: one server, over UDP or over TCP.
#ifndef MUSTER_HOSTFILE_DNS_CHANNEL_H
#define MUSTER_HOSTFILE_DNS_CHANNEL_H

#include <stdbool.h>

#include "common/err.h"
#include "hostfile/dns.h"

struct dns_channel;
struct event_base;

struct dns_channel_conf {
    struct event_base *base;
    const char *server; // "10.96.0.10", "127.0.0.1:5353", "[fd00::a]:53"
    bool tcp;
    int unit_ms; // silence ends a question after three of these
};

struct dns_channel *dns_channel_create(const struct dns_channel_conf *conf,
                                       struct err *err);
// Open questions end with ARES_EDESTRUCTION. NULL-safe.
void dns_channel_destroy(struct dns_channel *c);
// `done` is an ares_callback: a status of c-ares and the whole reply (NULL: none), which
// over UDP may be cut (its TC bit is set). May be called at once.
void dns_channel_ask(struct dns_channel *c, const char *name, enum dns_type type,
                     void (*done)(void *arg, int status, int timeouts,
                                  unsigned char *reply, int len),
                     void *arg);

#endif
