// poll, then read or write, until all is done or the time is over.
#include "kernels/check/net_io.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "kernels/check/finding.h"

static int wait_for(int fd, short events, uint64_t until_ms)
{
    for (;;) {
        uint64_t now = loop_now_ms();
        struct pollfd p = {.fd = fd, .events = events};
        if (now >= until_ms)
            return -1;
        int rc = poll(&p, 1, (int)(until_ms - now));
        if (rc > 0)
            return 0;
    }
}

static int fail(struct err *err, const char *what)
{
    err_set_kind(err, NULL, FINDING_FAIL, "%s", what);
    return -1;
}

static int fail_errno(struct err *err, const char *what)
{
    int failed = errno;
    err_set_kind(err, NULL, FINDING_FAIL, "%s: %s", what, strerror(failed));
    return -1;
}

int net_read(int fd, void *p, size_t n, uint64_t until_ms, struct err *err)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = read(fd, (char *)p + done, n - done);
        if (got == 0)
            return fail(err, "the other end has closed the connection");
        if (got > 0)
            done += (size_t)got;
        else if (errno != EAGAIN && errno != EINTR)
            return fail_errno(err, "read");
        else if (wait_for(fd, POLLIN, until_ms) < 0)
            return fail(err, "nothing comes from the other end any more");
    }
    return 0;
}

int net_write(int fd, const void *p, size_t n, uint64_t until_ms, struct err *err)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = send(fd, (const char *)p + done, n - done, MSG_NOSIGNAL);
        if (put > 0)
            done += (size_t)put;
        else if (errno != EAGAIN && errno != EINTR)
            return fail_errno(err, "write");
        else if (wait_for(fd, POLLOUT, until_ms) < 0)
            return fail(err, "the other end takes nothing any more");
    }
    return 0;
}

int net_get_words(int fd, uint64_t *words, size_t n, uint64_t until_ms, struct err *err)
{
    if (net_read(fd, words, n * sizeof *words, until_ms, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        words[i] = be64toh(words[i]);
    return 0;
}

int net_put_words(int fd, const uint64_t *words, size_t n, uint64_t until_ms,
                  struct err *err)
{
    uint64_t out[NET_WORDS_MAX];
    for (size_t i = 0; i < n; i++)
        out[i] = htobe64(words[i]);
    return net_write(fd, out, n * sizeof *out, until_ms, err);
}

int net_parse(const char *text, struct net_address *address, struct err *err)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const char *colon = strrchr(text, ':');
    bool brackets = text[0] == '[' && colon != NULL && colon[-1] == ']';
    size_t n = colon != NULL ? (size_t)(colon - text) : 0;
    CLEANUP_FREE char *host = brackets ? xstrndup(text + 1, n - 2) : xstrndup(text, n);
    if (n == 0 || (!brackets && strchr(host, ':') != NULL) || colon[1] == '\0' ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        strtoul(colon + 1, NULL, 10) > 65535 ||
        getaddrinfo(host, colon + 1, &hints, &found) != 0) {
        err_set(err,
                "'%s': give an address and a port, 10.0.0.1:7900 or [fd00::1]:7900",
                text);
        return -1;
    }
    memcpy(&address->addr, found->ai_addr, found->ai_addrlen);
    address->len = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

void net_text(const struct net_address *address, char text[static NET_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN + 16] = "?", port[8] = "?";
    getnameinfo((const void *)&address->addr, address->len, host, sizeof host, port,
                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    bool v6 = address->addr.ss_family == AF_INET6;
    snprintf(text, NET_ADDRESS_TEXT, "%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "",
             port);
}
