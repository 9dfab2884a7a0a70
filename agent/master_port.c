// Port choice by asking the kernel: what can be bound is free.
#include "agent/master_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"

enum { ENOUGH_PORTS = 256, LIST_MAX = 64 * 1024 };

struct master_port {
    uint16_t lately[MASTER_PORT_LATELY]; // 0: none
    unsigned next;
};

struct master_port *master_port_create(void)
{
    return xcalloc(1, sizeof(struct master_port));
}

void master_port_destroy(struct master_port *m)
{
    free(m);
}

// ---- pure -------------------------------------------------------------------

void master_port_range(const char *ephemeral, uint16_t *first, uint16_t *last)
{
    unsigned low = 32768, high = 60999;
    if (ephemeral != NULL)
        sscanf(ephemeral, "%u %u", &low, &high);
    *first = MASTER_PORT_LOW;
    *last = MASTER_PORT_HIGH;
    if (low > MASTER_PORT_HIGH)
        return;
    // A widened range: what is below it, else above it, else nothing can be avoided.
    if (low >= MASTER_PORT_LOW + ENOUGH_PORTS) {
        *last = (uint16_t)(low - 1);
    } else if (high >= MASTER_PORT_LOW && high + ENOUGH_PORTS <= 65535) {
        *first = (uint16_t)(high + 1);
        *last = 65535;
    }
}

bool master_port_reserved(const char *list, uint16_t port)
{
    while (*list != '\0') {
        char *end;
        unsigned long from = strtoul(list, &end, 10), to = from;
        if (end == list)
            return false;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        if (port >= from && port <= to)
            return true;
        list = end + strspn(end, ", \n");
    }
    return false;
}

// ---- the kernel's word ------------------------------------------------------

// A file of /proc as text; "" when there is none.
static char *read_text(const char *path)
{
    char *text = xcalloc(1, LIST_MAX + 1);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, LIST_MAX) < 0)
        text[0] = '\0';
    return text;
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse_address(const char *text, union address *a, struct err *err)
{
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
        a->any.sa_family = AF_INET;
    } else if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1) {
        a->any.sa_family = AF_INET6;
    } else {
        err_set(err, "master port: %s is no IPv4 or IPv6 address", text);
        return -1;
    }
    return 0;
}

// 0, or errno. Without SO_REUSEADDR: a port with connections in TIME_WAIT is not free.
static int try_bind(const union address *a, uint16_t port)
{
    union address at = *a;
    bool v4 = at.any.sa_family == AF_INET;
    CLEANUP_CLOSE int fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    *(v4 ? &at.v4.sin_port : &at.v6.sin6_port) = htons(port);
    return bind(fd, &at.any, v4 ? sizeof at.v4 : sizeof at.v6) < 0 ? errno : 0;
}

// As try_bind; a pod can be without one of the families.
static int try_any(sa_family_t family, uint16_t port)
{
    union address any = {0};
    any.any.sa_family = family;
    int why = try_bind(&any, port);
    return why == EAFNOSUPPORT || why == EADDRNOTAVAIL ? 0 : why;
}

// Rank 0 may listen on its address or on all, IPv4 and IPv6.
static int try_port(const union address *own, uint16_t port)
{
    int why = own != NULL ? try_bind(own, port) : 0;
    if (why == 0)
        why = try_any(AF_INET, port);
    return why == 0 ? try_any(AF_INET6, port) : why;
}

static bool picked_lately(const struct master_port *m, unsigned port)
{
    for (unsigned i = 0; i < MASTER_PORT_LATELY; i++)
        if (m->lately[i] == port)
            return true;
    return false;
}

static unsigned random_below(unsigned n)
{
    unsigned r = 0;
    if (getrandom(&r, sizeof r, GRND_NONBLOCK) != (ssize_t)sizeof r)
        r = (unsigned)getpid() * 2654435761u;
    return r % n;
}

// The first free port from a random start on, 0 with *why when there is none.
static uint16_t search(const struct master_port *m, const union address *own, int *why)
{
    CLEANUP_FREE char *range = read_text("/proc/sys/net/ipv4/ip_local_port_range");
    CLEANUP_FREE char *reserved =
        read_text("/proc/sys/net/ipv4/ip_local_reserved_ports");
    uint16_t first, last;
    master_port_range(range, &first, &last);
    unsigned n = last - first + 1u, start = random_below(n);
    for (unsigned i = 0; i < n; i++) {
        uint16_t port = (uint16_t)(first + (start + i) % n);
        if (picked_lately(m, port) || master_port_reserved(reserved, port))
            continue;
        *why = try_port(own, port);
        if (*why == 0)
            return port;
        if (*why != EADDRINUSE && *why != EACCES)
            return 0;
    }
    return 0;
}

uint16_t master_port_pick(struct master_port *m, const char *address, struct err *err)
{
    union address own;
    int why = EADDRINUSE;
    if (address != NULL && parse_address(address, &own, err) < 0)
        return 0;
    uint16_t port = search(m, address != NULL ? &own : NULL, &why);
    if (port == 0) {
        err_set_errno(err, why, "master port: no port can be bound on %s",
                      address != NULL ? address : "any address");
        return 0;
    }
    m->lately[m->next++ % MASTER_PORT_LATELY] = port;
    return port;
}
