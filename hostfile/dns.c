// Questions, their order and their answers: two channels a server (UDP, TCP), so that each
// failure has a culprit.
#define CARES_NO_DEPRECATED
#include "hostfile/dns.h"

#include <ares.h>
#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/dns_channel.h"
#include "hostfile/dns_parse.h"

enum { UNITS = 3 }; // of silence, see dns_channel.h

struct server {
    char *name; // "10.96.0.10" or "127.0.0.1:5353"
    struct dns_channel *udp, *tcp;
};

struct query {
    struct dns *dns;
    char *name;
    enum dns_type type;
    size_t server; // index of the one that is being asked
    bool tcp;
    uint64_t started;
    struct dns_answer answer;
    void (*done)(void *arg, const struct dns_answer *answer);
    void *arg;
    struct query *prev, *next;
};

struct dns {
    struct event_base *base;
    struct server *servers;
    size_t nservers;
    struct query *waiting, *asking, *answered; // in order
    size_t in_flight;
    uint64_t heard; // when a server last said anything (loop_now_ms), 0: never
    struct event *deliver;
    struct dns_stats stats;
};

// ---- questions ------------------------------------------------------------------

static void query_free(struct query *q)
{
    dns_answer_free(&q->answer);
    free(q->name);
    free(q);
}

static void set_answered(struct dns *dns, struct query *q)
{
    DL_APPEND(dns->answered, q);
    event_active(dns->deliver, EV_TIMEOUT, 0);
}

// Nobody has said anything since this question was put: those behind it would wait in
// vain too.
static void end_waiting(struct dns *dns, const struct query *silent)
{
    struct query *q, *next;
    DL_FOREACH_SAFE (dns->waiting, q, next) {
        DL_DELETE(dns->waiting, q);
        q->answer.status = DNS_TIMEOUT;
        q->answer.server = silent->answer.server;
        set_answered(dns, q);
    }
}

static void ask_server(struct query *q);
static void pump(struct dns *dns);

static void end_query(struct query *q)
{
    struct dns *dns = q->dns;
    DL_DELETE(dns->asking, q);
    dns->in_flight--;
    set_answered(dns, q);
    if (q->answer.status == DNS_TIMEOUT && dns->heard < q->started)
        end_waiting(dns, q);
}

static void on_reply(void *arg, int status, int timeouts, unsigned char *reply, int len)
{
    struct query *q = arg;
    struct dns *dns = q->dns;
    if (status == ARES_EDESTRUCTION)
        return; // dns_destroy() frees it
    if (!q->tcp && dns_parse_is_cut(reply, len)) {
        dns->stats.truncated++;
        dns->heard = loop_now_ms();
        q->tcp = true;
        ask_server(q);
        return;
    }
    dns_answer_free(&q->answer);
    dns_parse(status, q->type, reply, len, &q->answer);
    q->answer.server = dns->servers[q->server].name;
    dns->stats.answers[q->answer.status]++;
    if (q->answer.status == DNS_OK)
        dns->stats.good_ms = loop_now_ms();
    if (q->answer.status != DNS_TIMEOUT)
        dns->heard = loop_now_ms();
    if (!dns_status_is_failure(q->answer.status) || q->server + 1 == dns->nservers) {
        end_query(q);
        return;
    }
    q->server++;
    q->tcp = false;
    ask_server(q);
}

// May call on_reply() at once (a name that cannot be asked).
static void ask_server(struct query *q)
{
    struct server *s = &q->dns->servers[q->server];
    q->dns->stats.queries++;
    dns_channel_ask(q->tcp ? s->tcp : s->udp, q->name, q->type, on_reply, q);
}

static void pump(struct dns *dns)
{
    while (dns->waiting != NULL && dns->in_flight < DNS_IN_FLIGHT_MAX) {
        struct query *q = dns->waiting;
        DL_DELETE(dns->waiting, q);
        DL_APPEND(dns->asking, q);
        dns->in_flight++;
        q->started = loop_now_ms();
        ask_server(q);
    }
}

// One answer a turn, and nothing is touched behind the callback: it may destroy us.
static void on_deliver(int fd, short what, void *arg)
{
    struct dns *dns = arg;
    struct query *q = dns->answered;
    pump(dns);
    if (q == NULL)
        return;
    DL_DELETE(dns->answered, q);
    if (dns->answered != NULL)
        event_active(dns->deliver, EV_TIMEOUT, 0);
    q->done(q->arg, &q->answer);
    query_free(q);
}

void dns_ask(struct dns *dns, const char *name, enum dns_type type,
             void (*done)(void *arg, const struct dns_answer *answer), void *arg)
{
    struct query *q = xcalloc(1, sizeof *q);
    q->dns = dns;
    q->name = xstrdup(name);
    q->type = type;
    q->answer.server = "";
    q->done = done;
    q->arg = arg;
    DL_APPEND(dns->waiting, q);
    event_active(dns->deliver, EV_TIMEOUT, 0);
}

char *dns_reverse_name(const struct sockaddr_storage *addr)
{
    if (addr->ss_family == AF_INET) {
        const struct sockaddr_in *a = (const void *)addr;
        const uint8_t *b = (const uint8_t *)&a->sin_addr;
        return xasprintf("%u.%u.%u.%u.in-addr.arpa.", b[3], b[2], b[1], b[0]);
    }
    char text[64 + 1];
    const struct sockaddr_in6 *a = (const void *)addr;
    for (int i = 0; i < 16; i++) {
        uint8_t b = a->sin6_addr.s6_addr[15 - i];
        snprintf(text + (size_t)i * 4, 5, "%x.%x.", b & 15U, b >> 4U);
    }
    return xasprintf("%sip6.arpa.", text);
}

// ---- life -----------------------------------------------------------------------

static int open_server(struct dns *dns, struct server *s, int unit_ms, struct err *err)
{
    struct dns_channel_conf conf = {
        .base = dns->base, .server = s->name, .unit_ms = unit_ms};
    s->udp = dns_channel_create(&conf, err);
    conf.tcp = true;
    s->tcp = s->udp != NULL ? dns_channel_create(&conf, err) : NULL;
    return s->tcp != NULL ? 0 : -1;
}

struct dns *dns_create(struct event_base *base, const struct strv *servers,
                       struct err *err)
{
    struct dns *dns = xcalloc(1, sizeof *dns);
    dns->base = base;
    dns->deliver = event_new(base, -1, 0, on_deliver, dns);
    dns->servers = xcalloc(servers->n + 1, sizeof *dns->servers);
    for (size_t i = 0; i < servers->n; i++) {
        struct server *s = &dns->servers[dns->nservers++];
        s->name = xstrdup(servers->v[i]);
        if (open_server(dns, s, DNS_SILENCE_MS / UNITS / (int)servers->n, err) == 0)
            continue;
        dns_destroy(dns);
        return NULL;
    }
    return dns;
}

const struct dns_stats *dns_stats(const struct dns *dns)
{
    return &dns->stats;
}

static void free_list(struct query *list)
{
    struct query *q, *next;
    DL_FOREACH_SAFE (list, q, next) {
        query_free(q);
    }
}

void dns_destroy(struct dns *dns)
{
    if (dns == NULL)
        return;
    for (size_t i = 0; i < dns->nservers; i++) {
        struct server *s = &dns->servers[i];
        dns_channel_destroy(s->udp);
        dns_channel_destroy(s->tcp);
        free(s->name);
    }
    event_free(dns->deliver);
    free_list(dns->waiting);
    free_list(dns->asking);
    free_list(dns->answered);
    free(dns->servers);
    free(dns);
}
