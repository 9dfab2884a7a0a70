// c-ares' sockets and timer as events.
#define CARES_NO_DEPRECATED
#include "hostfile/dns_channel.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/hostname.h"

enum {
    TRIES = 2,       // the second waits twice as long: three units in all
    UDP_SIZE = 1232, // what passes every path (DNS flag day 2020)
};

struct socket_watch {
    struct event *event;
    struct socket_watch *prev, *next;
};

struct dns_channel {
    struct event_base *base;
    ares_channel ares;
    struct event *timer;
    struct socket_watch *sockets;
};

// ---- events -----------------------------------------------------------------------

static void rearm(struct dns_channel *c)
{
    struct timeval tv;
    if (ares_timeout(c->ares, NULL, &tv) != NULL)
        evtimer_add(c->timer, &tv);
    else
        evtimer_del(c->timer);
}

static void on_timer(int fd, short what, void *arg)
{
    struct dns_channel *c = arg;
    ares_process_fd(c->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    rearm(c);
}

static void on_socket(int fd, short what, void *arg)
{
    struct dns_channel *c = arg;
    ares_process_fd(c->ares, what & EV_READ ? fd : ARES_SOCKET_BAD,
                    what & EV_WRITE ? fd : ARES_SOCKET_BAD);
    rearm(c);
}

static struct socket_watch *watch_of(struct dns_channel *c, int fd)
{
    struct socket_watch *w;
    DL_FOREACH (c->sockets, w) {
        if (event_get_fd(w->event) == fd)
            return w;
    }
    return NULL;
}

static void on_socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
    struct dns_channel *c = arg;
    struct socket_watch *w = watch_of(c, fd);
    if (w != NULL) {
        DL_DELETE(c->sockets, w);
        event_free(w->event);
        free(w);
    }
    short what = (short)((readable ? EV_READ : 0) | (writable ? EV_WRITE : 0));
    if (what == 0)
        return;
    w = xcalloc(1, sizeof *w);
    w->event = event_new(c->base, fd, (short)(what | EV_PERSIST), on_socket, c);
    event_add(w->event, NULL);
    DL_APPEND(c->sockets, w);
}

// ---- questions --------------------------------------------------------------------

static int class_type(enum dns_type type)
{
    return type == DNS_A ? ns_t_a : type == DNS_AAAA ? ns_t_aaaa : ns_t_ptr;
}

void dns_channel_ask(struct dns_channel *c, const char *name, enum dns_type type,
                     void (*done)(void *arg, int status, int timeouts,
                                  unsigned char *reply, int len),
                     void *arg)
{
    ares_query(c->ares, name, ns_c_in, class_type(type), done, arg);
    rearm(c);
}

// ---- life -------------------------------------------------------------------------

// A cut answer is given as it is (IGNTC): what becomes of it is decided in dns.c.
static int open_channel(struct dns_channel *c, const struct dns_channel_conf *conf)
{
    struct ares_options o = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_NOCHECKRESP |
                 ARES_FLAG_EDNS | ARES_FLAG_IGNTC | (conf->tcp ? ARES_FLAG_USEVC : 0),
        .timeout = conf->unit_ms,
        .tries = TRIES,
        .ednspsz = UDP_SIZE,
        .lookups = (char[]){"b"},
        .resolvconf_path = (char[]){"/dev/null"},
        .sock_state_cb = on_socket_state,
        .sock_state_cb_data = c,
    };
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_EDNSPSZ |
               ARES_OPT_LOOKUPS | ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB |
               ARES_OPT_DOMAINS;
#ifdef ARES_OPT_QUERY_CACHE
    mask |= ARES_OPT_QUERY_CACHE; // 0 seconds: no answer of the past
#endif
    int rc = ares_init_options(&c->ares, &o, mask);
    if (rc != ARES_SUCCESS) {
        c->ares = NULL;
        return rc;
    }
    const char *name = conf->server;
    struct sockaddr_storage addr;
    bool bare6 =
        hostname_literal(name, strlen(name), &addr) && addr.ss_family == AF_INET6;
    CLEANUP_FREE char *csv = xasprintf(bare6 ? "[%s]" : "%s", name);
    return ares_set_servers_ports_csv(c->ares, csv);
}

struct dns_channel *dns_channel_create(const struct dns_channel_conf *conf,
                                       struct err *err)
{
    struct dns_channel *c = xcalloc(1, sizeof *c);
    ares_library_init(ARES_LIB_INIT_ALL);
    c->base = conf->base;
    c->timer = loop_timer(conf->base, on_timer, c);
    int rc = open_channel(c, conf);
    if (rc == ARES_SUCCESS)
        return c;
    err_set(err, "cannot ask the DNS server '%s': %s", conf->server, ares_strerror(rc));
    dns_channel_destroy(c);
    return NULL;
}

void dns_channel_destroy(struct dns_channel *c)
{
    if (c == NULL)
        return;
    if (c->ares != NULL)
        ares_destroy(c->ares);
    loop_timer_free(c->timer);
    free(c);
    ares_library_cleanup();
}
