// TCP sockets below links.
#include "wire/link_sock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

enum { BACKLOG = 512, SLACK_MS = 2000 };

// An IPv4-mapped address becomes what it stands for.
static socklen_t unmap(struct sockaddr_storage *to, const struct sockaddr *addr,
                       socklen_t len)
{
    memset(to, 0, sizeof *to);
    memcpy(to, addr, len < sizeof *to ? len : sizeof *to);
    struct sockaddr_in6 in6;
    memcpy(&in6, to, sizeof in6);
    if (to->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
        return len;
    struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = in6.sin6_port};
    memcpy(&in4.sin_addr, &in6.sin6_addr.s6_addr[12], 4);
    memcpy(to, &in4, sizeof in4);
    return sizeof in4;
}

void link_sock_text(const struct sockaddr *addr, socklen_t len, char *out)
{
    struct sockaddr_storage plain;
    char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    len = unmap(&plain, addr, len);
    getnameinfo((struct sockaddr *)&plain, len, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(out, LINK_SOCK_TEXT, strchr(host, ':') ? "[%.100s]:%.8s" : "%.100s:%.8s",
             host, port);
}

void link_sock_local(int fd, char *out)
{
    struct sockaddr_storage addr, plain;
    socklen_t len = sizeof addr;
    out[0] = '\0';
    if (getsockname(fd, (struct sockaddr *)&addr, &len) < 0)
        return;
    len = unmap(&plain, (struct sockaddr *)&addr, len);
    if (getnameinfo((struct sockaddr *)&plain, len, out, LINK_SOCK_TEXT, NULL, 0,
                    NI_NUMERICHOST) != 0)
        out[0] = '\0';
}

void link_sock_tune(int fd, uint32_t dead_ms)
{
    static const int one = 1, idle = 3, every = 1, probes = 3;
    unsigned timeout = dead_ms + SLACK_MS;
    // None of them is needed to be right, only to be fast: failures do not count.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

void link_sock_refused(struct err *err, int errnum, const char *peer)
{
    switch (errnum) {
    case ECONNREFUSED:
        err_set_kind(
            err, "REFUSED_TCP", 0,
            "connection refused (nobody listens on %s; is musterd running there?)",
            peer);
        break;
    case ETIMEDOUT:
        err_set_kind(err, "TIMEOUT", 0, "no answer from %s (TCP connect)", peer);
        break;
    case EACCES:
    case EPERM:
        err_set_kind(err, "UNREACHABLE", 0,
                     "a firewall of this machine forbids connections to %s (%s)", peer,
                     strerror(errnum));
        break;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
        err_set_kind(err, "UNREACHABLE", 0,
                     "no route to %s (%s); is the address still that of a pod?", peer,
                     strerror(errnum));
        break;
    default:
        err_set_kind(err, "UNREACHABLE", 0, "cannot connect to %s: %s", peer,
                     strerror(errnum));
    }
}

int link_sock_connect(const struct sockaddr *addr, socklen_t len, const char *peer,
                      struct err *err)
{
    CLEANUP_CLOSE int fd =
        socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || (connect(fd, addr, len) < 0 && errno != EINPROGRESS)) {
        link_sock_refused(err, errno, peer);
        return -1;
    }
    return mem_steal_fd(&fd);
}

int link_sock_listen(const struct sockaddr *addr, socklen_t len, struct err *err)
{
    static const int one = 1, zero = 0;
    char text[LINK_SOCK_TEXT];
    CLEANUP_CLOSE int fd =
        socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (addr->sa_family == AF_INET6)
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    }
    if (fd < 0 || bind(fd, addr, len) < 0 || listen(fd, BACKLOG) < 0) {
        int why = errno;
        link_sock_text(addr, len, text);
        err_set_kind(err, "LISTEN", 125, "cannot listen on %s: %s%s", text,
                     strerror(why),
                     why == EADDRINUSE ? " (does another musterd run here?)" : "");
        return -1;
    }
    return mem_steal_fd(&fd);
}
