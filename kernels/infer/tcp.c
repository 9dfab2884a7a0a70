// Nonblocking sockets.
#include "kernels/infer/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"
#include "kernels/infer/kvwire.h"

static int fail(struct err *err, int why)
{
    err_set(err, "%s", strerror(why));
    return -1;
}

int tcp_address(const char *address, uint32_t port, struct sockaddr_storage *to,
                socklen_t *len)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)to;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
    *to = (struct sockaddr_storage){0};
    if (port == 0 || port > UINT16_MAX)
        return -1;
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        *len = sizeof *v4;
        return 0;
    }
    if (inet_pton(AF_INET6, address, &v6->sin6_addr) != 1)
        return -1;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    *len = sizeof *v6;
    return 0;
}

int tcp_connect(const char *address, uint32_t port, struct err *err)
{
    struct sockaddr_storage to;
    socklen_t len;
    if (tcp_address(address, port, &to, &len) < 0)
        return fail(err, EINVAL);
    CLEANUP_CLOSE int fd =
        socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        (connect(fd, (struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS))
        return fail(err, errno);
    return mem_steal_fd(&fd);
}

int tcp_connected(int fd, struct err *err)
{
    int why = 0;
    socklen_t size = sizeof why;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) < 0)
        why = errno;
    return why == 0 ? 0 : fail(err, why);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

int tcp_write(int fd, const void *p, size_t n, size_t *at, size_t most, struct err *err)
{
    const char *from = p;
    while (*at < n && most > 0) {
        ssize_t done = send(fd, from + *at, least(n - *at, most), MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno == EAGAIN ? 0 : fail(err, errno);
        *at += (size_t)done;
        most -= (size_t)done;
    }
    return 0;
}

int tcp_read(int fd, void *p, size_t n, size_t *at, size_t most, struct err *err)
{
    char *to = p;
    while (*at < n && most > 0) {
        ssize_t done = recv(fd, to + *at, least(n - *at, most), 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno == EAGAIN ? 0 : fail(err, errno);
        if (done == 0) {
            err_set(err, "the connection was closed with %zu bytes to come", n - *at);
            return -1;
        }
        *at += (size_t)done;
        most -= (size_t)done;
    }
    return 0;
}

// ---- own address ------------------------------------------------------------------

static int look_up(const char *name, struct sockaddr_storage *to, socklen_t *len,
                   struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *list;
    int rc = getaddrinfo(name, "9", &hints, &list);
    if (rc != 0) {
        err_set(err, "%s: %s", name, gai_strerror(rc));
        return -1;
    }
    memcpy(to, list->ai_addr, list->ai_addrlen);
    *len = list->ai_addrlen;
    freeaddrinfo(list);
    return 0;
}

int tcp_own_address(const char *towards, char *out, struct err *err)
{
    struct sockaddr_storage to = {0};
    socklen_t len;
    if (look_up(towards, &to, &len, err) < 0)
        return -1;
    CLEANUP_CLOSE int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&to, &len) < 0)
        return fail(err, errno);
    int rc = getnameinfo((struct sockaddr *)&to, len, out, KVWIRE_ADDRESS, NULL, 0,
                         NI_NUMERICHOST);
    if (rc == 0)
        return 0;
    err_set(err, "%s: %s", towards, gai_strerror(rc));
    return -1;
}
