// c-ares in the event loop: one channel a server, so that each failure has a culprit.
#define CARES_NO_DEPRECATED
#include "hostfile/dns.h"

#include <ares.h>
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/dns_parse.h"
#include "hostfile/hostname.h"

enum {
    TRIES = 2, // the second waits twice as long: three units in all
    UNITS = 3,
    UDP_SIZE = 1232, // what passes every path (DNS flag day 2020)
};

struct socket_watch {
    struct event *event;
    struct server *server;
    struct socket_watch *prev, *next;
};

struct server {
    struct dns *dns;
    ares_channel channel;
    char *name; // "10.96.0.10" or "127.0.0.1:5353"
    struct event *timer;
    struct socket_watch *sockets;
};

struct query {
    struct dns *dns;
    char *name;
    enum dns_type type;
    size_t server; // index of the one that is being asked
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
};

// ---- c-ares and the loop --------------------------------------------------------

static void rearm(struct server *s)
{
    struct timeval tv;
    if (ares_timeout(s->channel, NULL, &tv) != NULL)
        evtimer_add(s->timer, &tv);
    else
        evtimer_del(s->timer);
}

static void on_timer(int fd, short what, void *arg)
{
    struct server *s = arg;
    ares_process_fd(s->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    rearm(s);
}

static void on_socket(int fd, short what, void *arg)
{
    struct server *s = arg;
    ares_process_fd(s->channel, what & EV_READ ? fd : ARES_SOCKET_BAD,
                    what & EV_WRITE ? fd : ARES_SOCKET_BAD);
    rearm(s);
}

static struct socket_watch *watch_of(struct server *s, int fd)
{
    struct socket_watch *w;
    DL_FOREACH (s->sockets, w) {
        if (event_get_fd(w->event) == fd)
            return w;
    }
    return NULL;
}

static void on_socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
    struct server *s = arg;
    struct socket_watch *w = watch_of(s, fd);
    if (w != NULL) {
        DL_DELETE(s->sockets, w);
        event_free(w->event);
        free(w);
    }
    short what = (short)((readable ? EV_READ : 0) | (writable ? EV_WRITE : 0));
    if (what == 0)
        return;
    w = xcalloc(1, sizeof *w);
    w->server = s;
    w->event = event_new(s->dns->base, fd, (short)(what | EV_PERSIST), on_socket, s);
    event_add(w->event, NULL);
    DL_APPEND(s->sockets, w);
}

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

static void on_reply(void *arg, int status, int timeouts, unsigned char *reply, int len)
{
    struct query *q = arg;
    struct dns *dns = q->dns;
    if (status == ARES_EDESTRUCTION)
        return; // dns_destroy() frees it
    dns_answer_free(&q->answer);
    dns_parse(status, q->type, reply, len, &q->answer);
    q->answer.server = dns->servers[q->server].name;
    if (q->answer.status != DNS_TIMEOUT)
        dns->heard = loop_now_ms();
    if (dns_status_is_failure(q->answer.status) && q->server + 1 < dns->nservers) {
        q->server++;
        ask_server(q);
        return;
    }
    DL_DELETE(dns->asking, q);
    dns->in_flight--;
    set_answered(dns, q);
    if (q->answer.status == DNS_TIMEOUT && dns->heard < q->started)
        end_waiting(dns, q);
}

static int class_type(enum dns_type type)
{
    return type == DNS_A ? ns_t_a : type == DNS_AAAA ? ns_t_aaaa : ns_t_ptr;
}

// May call on_reply() at once (a name that cannot be asked).
static void ask_server(struct query *q)
{
    struct server *s = &q->dns->servers[q->server];
    ares_query(s->channel, q->name, ns_c_in, class_type(q->type), on_reply, q);
    rearm(s);
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

static int open_channel(struct server *s, int unit_ms)
{
    struct ares_options o = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_NOCHECKRESP |
                 ARES_FLAG_EDNS,
        .timeout = unit_ms,
        .tries = TRIES,
        .ednspsz = UDP_SIZE,
        .lookups = (char[]){"b"},
        .resolvconf_path = (char[]){"/dev/null"},
        .sock_state_cb = on_socket_state,
        .sock_state_cb_data = s,
    };
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_EDNSPSZ |
               ARES_OPT_LOOKUPS | ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB |
               ARES_OPT_DOMAINS;
#ifdef ARES_OPT_QUERY_CACHE
    mask |= ARES_OPT_QUERY_CACHE; // 0 seconds: no answer of the past
#endif
    int rc = ares_init_options(&s->channel, &o, mask);
    if (rc != ARES_SUCCESS) {
        s->channel = NULL;
        return rc;
    }
    struct sockaddr_storage addr;
    bool bare6 =
        hostname_literal(s->name, strlen(s->name), &addr) && addr.ss_family == AF_INET6;
    CLEANUP_FREE char *csv = xasprintf(bare6 ? "[%s]" : "%s", s->name);
    return ares_set_servers_ports_csv(s->channel, csv);
}

struct dns *dns_create(struct event_base *base, const struct strv *servers,
                       struct err *err)
{
    ares_library_init(ARES_LIB_INIT_ALL);
    struct dns *dns = xcalloc(1, sizeof *dns);
    dns->base = base;
    dns->deliver = event_new(base, -1, 0, on_deliver, dns);
    dns->servers = xcalloc(servers->n + 1, sizeof *dns->servers);
    for (size_t i = 0; i < servers->n; i++) {
        struct server *s = &dns->servers[dns->nservers++];
        s->dns = dns;
        s->name = xstrdup(servers->v[i]);
        s->timer = loop_timer(base, on_timer, s);
        int rc = open_channel(s, DNS_SILENCE_MS / UNITS / (int)servers->n);
        if (rc == ARES_SUCCESS)
            continue;
        err_set(err, "cannot ask the DNS server '%s': %s", s->name, ares_strerror(rc));
        dns_destroy(dns);
        return NULL;
    }
    return dns;
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
        if (s->channel != NULL)
            ares_destroy(s->channel);
        loop_timer_free(s->timer);
        free(s->name);
    }
    event_free(dns->deliver);
    free_list(dns->waiting);
    free_list(dns->asking);
    free_list(dns->answered);
    free(dns->servers);
    free(dns);
    ares_library_cleanup();
}
