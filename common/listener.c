// One bound socket; held and paused are two reasons not to take from it.
#include "common/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"

struct listener {
    struct evconnlistener *ev;
    struct event *pause;
    bool held, paused;
    const char *what;
    listener_fn *fn;
    void *arg;
    struct log *log;
};

// ---- where ------------------------------------------------------------------------

// -1: it is no port.
static int parse_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    long port =
        digits > 0 && digits <= 5 && text[digits] == '\0' ? strtol(text, NULL, 10) : -1;
    return port <= 65535 ? (int)port : -1;
}

// "PORT" or "ADDRESS:PORT". False: it is neither.
static bool parse_where(const char *where, struct sockaddr_storage *addr, int *len)
{
    const char *colon = strrchr(where, ':');
    CLEANUP_FREE char *address =
        colon != NULL ? xstrndup(where, (size_t)(colon - where)) : xstrdup("127.0.0.1");
    int port = parse_port(colon != NULL ? colon + 1 : where);
    *len = sizeof *addr;
    if (port < 0 || (address[0] != '[' && strchr(address, ':') != NULL) ||
        evutil_parse_sockaddr_port(address, (struct sockaddr *)addr, len) < 0)
        return false;
    if (addr->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)addr)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)addr)->sin_port = htons((uint16_t)port);
    return true;
}

static int find_address(const char *where, struct sockaddr_storage *addr, int *len,
                        struct err *err)
{
    if (parse_where(where, addr, len))
        return 0;
    err_set(err,
            "%s is no place to listen at: give PORT (on 127.0.0.1), ADDRESS:PORT or "
            "[IPV6]:PORT, as 0.0.0.0:9400",
            where);
    return -1;
}

int listener_check(const char *where, struct err *err)
{
    struct sockaddr_storage addr;
    int len;
    return find_address(where, &addr, &len, err);
}

// All of it is empty where the kernel does not tell.
static struct sockaddr_storage own_address(const struct listener *l)
{
    struct sockaddr_storage at = {0};
    socklen_t len = sizeof at;
    getsockname(evconnlistener_get_fd(l->ev), (struct sockaddr *)&at, &len);
    return at;
}

static int port_of(const struct sockaddr_storage *at)
{
    return ntohs(at->ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)at)->sin6_port
                     : ((const struct sockaddr_in *)at)->sin_port);
}

int listener_port(const struct listener *l)
{
    struct sockaddr_storage at = own_address(l);
    return port_of(&at);
}

static void say_where(const struct listener *l)
{
    struct sockaddr_storage at = own_address(l);
    char text[INET6_ADDRSTRLEN] = "?";
    bool v6 = at.ss_family == AF_INET6;
    inet_ntop(at.ss_family,
              v6 ? (const void *)&((const struct sockaddr_in6 *)&at)->sin6_addr
                 : (const void *)&((const struct sockaddr_in *)&at)->sin_addr,
              text, sizeof text);
    log_info(l->log, v6 ? "%s: listens at [%s]:%d" : "%s: listens at %s:%d", l->what,
             text, port_of(&at));
}

// ---- taking -----------------------------------------------------------------------

static void take_or_not(struct listener *l)
{
    if (l->held || l->paused)
        evconnlistener_disable(l->ev);
    else
        evconnlistener_enable(l->ev);
}

static void on_accept(struct evconnlistener *ev, evutil_socket_t fd,
                      struct sockaddr *from, int len, void *arg)
{
    struct listener *l = arg;
    l->fn(l->arg, fd);
}

// Level-triggered: without a pause the loop would come here again at once, for ever.
static void on_error(struct evconnlistener *ev, void *arg)
{
    struct listener *l = arg;
    log_warn(l->log, "%s: no connection can be taken: %s", l->what, strerror(errno));
    l->paused = true;
    take_or_not(l);
    loop_timer_arm(l->pause, LISTENER_PAUSE_MS);
}

static void on_pause_over(int fd, short what, void *arg)
{
    struct listener *l = arg;
    l->paused = false;
    take_or_not(l);
}

void listener_hold(struct listener *l, bool hold)
{
    l->held = hold;
    take_or_not(l);
}

struct listener *listener_create(struct event_base *base, const char *where,
                                 const char *what, listener_fn *fn, void *arg,
                                 struct log *log, struct err *err)
{
    enum { FLAGS = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE };
    struct sockaddr_storage addr;
    int len;
    if (find_address(where, &addr, &len, err) < 0)
        return NULL;
    struct listener *l = xcalloc(1, sizeof *l);
    *l = (struct listener){.what = what, .fn = fn, .arg = arg, .log = log};
    l->ev = evconnlistener_new_bind(base, on_accept, l, FLAGS, -1,
                                    (struct sockaddr *)&addr, len);
    if (l->ev == NULL) {
        err_set_errno(err, errno, "cannot listen at %s", where);
        free(l);
        return NULL;
    }
    evconnlistener_set_error_cb(l->ev, on_error);
    l->pause = loop_timer(base, on_pause_over, l);
    say_where(l);
    return l;
}

void listener_destroy(struct listener *l)
{
    if (l == NULL)
        return;
    loop_timer_free(l->pause);
    evconnlistener_free(l->ev);
    free(l);
}
