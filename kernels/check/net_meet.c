// Listening and dialling.
#include "kernels/check/net_meet.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "kernels/check/finding.h"
#include "kernels/check/net_hello.h"

enum {
    CALLERS_MAX =
        16, // who has not said its line; one more takes the oldest one's place
    CALLER_MS = 2000, // to say it
    DIAL_MS = 2000,   // for one try
    RETRY_MS = 50,
};

static void set_nodelay(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int net_listen(struct net_address *address, struct err *err)
{
    int on = 1;
    char text[NET_ADDRESS_TEXT];
    CLEANUP_CLOSE int fd =
        socket(address->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, (void *)&address->addr, address->len) < 0 ||
        listen(fd, CALLERS_MAX) < 0) {
        int failed = errno;
        net_text(address, text);
        err_set_kind(err, failed == EADDRINUSE ? "TAKEN" : NULL, FINDING_COULD_NOT_RUN,
                     "%s: %s", text, strerror(failed));
        return -1;
    }
    getsockname(fd, (void *)&address->addr, &address->len);
    return mem_steal_fd(&fd);
}

// Somebody who has connected, and what it has said so far.
struct caller {
    int fd; // -1: none
    uint64_t until_ms;
    struct net_address address;
    char line[NET_HELLO_MAX];
    size_t n;
};

struct door {
    int listener;
    const char *token;
    struct caller callers[CALLERS_MAX];
    unsigned strangers;
};

static void let_go(struct door *d, struct caller *c)
{
    close(c->fd);
    c->fd = -1;
    d->strangers++;
}

static void let_in(struct door *d)
{
    struct caller *place = &d->callers[0];
    struct net_address from = {.len = sizeof from.addr};
    int fd = accept4(d->listener, (void *)&from.addr, &from.len,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    for (size_t i = 0; i < CALLERS_MAX && place->fd >= 0; i++)
        if (d->callers[i].fd < 0 || d->callers[i].until_ms < place->until_ms)
            place = &d->callers[i];
    if (place->fd >= 0)
        let_go(d, place);
    *place = (struct caller){
        .fd = fd, .until_ms = loop_now_ms() + CALLER_MS, .address = from};
}

// One byte a time, so that nothing behind the line is taken. 1: it is the one.
static int hear(struct door *d, struct caller *c, struct net_meeting *m)
{
    for (;;) {
        ssize_t got = read(c->fd, c->line + c->n, 1);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (got <= 0 || c->n == NET_HELLO_MAX - 1) {
            let_go(d, c);
            return 0;
        }
        if (c->line[c->n++] != '\n')
            continue;
        c->line[c->n] = '\0';
        if (net_hello_read(c->line, c->n, d->token, &m->seed) &&
            send(c->fd, "+", 1, MSG_NOSIGNAL) == 1)
            return 1;
        let_go(d, c);
        return 0;
    }
}

static void wait_at_door(struct door *d, uint64_t until_ms)
{
    struct pollfd p[CALLERS_MAX + 1] = {{.fd = d->listener, .events = POLLIN}};
    uint64_t now = loop_now_ms(), next = until_ms;
    for (size_t i = 0; i < CALLERS_MAX; i++) {
        p[i + 1] = (struct pollfd){.fd = d->callers[i].fd, .events = POLLIN};
        if (d->callers[i].fd >= 0 && d->callers[i].until_ms < next)
            next = d->callers[i].until_ms;
    }
    if (next > now)
        poll(p, CALLERS_MAX + 1, (int)(next - now));
    if ((p[0].revents & POLLIN) != 0)
        let_in(d);
}

static bool look_at_callers(struct door *d, struct net_meeting *m)
{
    for (size_t i = 0; i < CALLERS_MAX; i++) {
        struct caller *c = &d->callers[i];
        if (c->fd < 0)
            continue;
        if (hear(d, c, m) == 1) {
            m->fd = mem_steal_fd(&c->fd);
            m->peer = c->address;
            set_nodelay(m->fd);
            return true;
        }
        if (c->fd >= 0 && loop_now_ms() >= c->until_ms)
            let_go(d, c);
    }
    return false;
}

int net_accept(int listener, const char *token, uint64_t until_ms,
               struct net_meeting *m, struct err *err)
{
    struct door d = {.listener = listener, .token = token};
    bool met = false;
    *m = (struct net_meeting){.fd = -1};
    for (size_t i = 0; i < CALLERS_MAX; i++)
        d.callers[i].fd = -1;
    while (!met && loop_now_ms() < until_ms) {
        wait_at_door(&d, until_ms);
        met = look_at_callers(&d, m);
    }
    for (size_t i = 0; i < CALLERS_MAX; i++)
        if (d.callers[i].fd >= 0)
            let_go(&d, &d.callers[i]);
    m->strangers = d.strangers;
    if (met)
        return 0;
    err_set_kind(err, NULL, FINDING_COULD_NOT_RUN,
                 "nobody came with the token (%u others did)", d.strangers);
    return -1;
}

// 0: connected. Else an errno; ETIMEDOUT: no answer.
static int connect_once(const struct net_address *address, uint64_t until_ms, int *out)
{
    int failed = 0;
    socklen_t len = sizeof failed;
    CLEANUP_CLOSE int fd =
        socket(address->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    if (connect(fd, (const void *)&address->addr, address->len) < 0 &&
        errno != EINPROGRESS)
        return errno;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    uint64_t now = loop_now_ms();
    if (now >= until_ms || poll(&p, 1, (int)(until_ms - now)) <= 0)
        return ETIMEDOUT;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len) < 0)
        return errno;
    if (failed == 0)
        *out = mem_steal_fd(&fd);
    return failed;
}

static int connect_until(const struct net_address *address, uint64_t until_ms, int *fd,
                         struct err *err)
{
    char text[NET_ADDRESS_TEXT];
    int failed = ETIMEDOUT;
    while (loop_now_ms() < until_ms) {
        uint64_t once = loop_now_ms() + DIAL_MS;
        failed = connect_once(address, once < until_ms ? once : until_ms, fd);
        if (failed == 0)
            return 0;
        poll(NULL, 0, RETRY_MS);
    }
    net_text(address, text);
    err_set_kind(err, NULL,
                 failed == ECONNREFUSED ? FINDING_COULD_NOT_RUN : FINDING_FAIL,
                 "%s: %s", text,
                 failed == ECONNREFUSED ? "nobody listens there" : strerror(failed));
    return -1;
}

int net_dial(const struct net_address *address, const char *token, uint64_t seed,
             uint64_t until_ms, struct net_meeting *m, struct err *err)
{
    char answer = 0;
    ERR_AUTO why = ERR_INIT;
    CLEANUP_FREE char *line = net_hello(token, seed);
    *m = (struct net_meeting){.fd = -1, .seed = seed, .peer = *address};
    if (connect_until(address, until_ms, &m->fd, err) < 0)
        return -1;
    set_nodelay(m->fd);
    if (net_write(m->fd, line, strlen(line), until_ms, &why) == 0 &&
        net_read(m->fd, &answer, 1, until_ms, &why) == 0 && answer == '+')
        return 0;
    err_set_kind(err, NULL, FINDING_COULD_NOT_RUN,
                 "whoever listens there does not take the token: %s",
                 answer != 0 ? "it is no netcheck" : err_text(&why));
    close(m->fd);
    m->fd = -1;
    return -1;
}
