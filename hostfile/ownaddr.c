// Finding an own address among the interfaces.
#include "hostfile/ownaddr.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "hostfile/hostname.h"

enum { DISCARD_PORT = 9 };

static bool is_usable(const struct ifaddrs *i, int family)
{
    if (i->ifa_addr == NULL || i->ifa_addr->sa_family != family)
        return false;
    if (!(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK))
        return false;
    const struct sockaddr_in6 *a6 = (const void *)i->ifa_addr;
    return family == AF_INET || !IN6_IS_ADDR_LINKLOCAL(&a6->sin6_addr);
}

static bool pick(const struct ifaddrs *list, int family, struct sockaddr_storage *out)
{
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        if (!is_usable(i, family))
            continue;
        memset(out, 0, sizeof *out);
        memcpy(out, i->ifa_addr,
               family == AF_INET ? sizeof(struct sockaddr_in)
                                 : sizeof(struct sockaddr_in6));
        return true;
    }
    return false;
}

// A connected UDP socket has the address of its route.
static bool toward(const struct sockaddr_storage *peer, struct sockaddr_storage *out)
{
    struct sockaddr_storage to = *peer, own = {0};
    socklen_t len = sizeof own;
    int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    // The two families have the port in one place.
    ((struct sockaddr_in *)(void *)&to)->sin_port = htons(DISCARD_PORT);
    bool ok = connect(fd, (void *)&to,
                      to.ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                              : sizeof(struct sockaddr_in6)) == 0 &&
              getsockname(fd, (void *)&own, &len) == 0 && hostname_is_peer(&own);
    close(fd);
    if (!ok)
        return false;
    ((struct sockaddr_in *)(void *)&own)->sin_port = 0;
    *out = own;
    return true;
}

// Addresses of documentation (RFC 5737, RFC 3849): nobody's, so that the default route is
// taken.
static bool toward_default(const char *somewhere, struct sockaddr_storage *out)
{
    struct sockaddr_storage to;
    return hostname_literal(somewhere, strlen(somewhere), &to) && toward(&to, out);
}

bool ownaddr_get(const struct sockaddr_storage *peer, struct sockaddr_storage *out)
{
    struct ifaddrs *list;
    if ((peer != NULL && toward(peer, out)) || toward_default("192.0.2.1", out) ||
        toward_default("2001:db8::1", out))
        return true;
    if (getifaddrs(&list) < 0)
        return false;
    bool found = pick(list, AF_INET, out) || pick(list, AF_INET6, out);
    freeifaddrs(list);
    return found;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
    if (a == NULL || a->sa_family != b->ss_family)
        return false;
    const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
    const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
    if (a->sa_family == AF_INET)
        return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

bool ownaddr_is_own(const struct sockaddr_storage *addr)
{
    struct ifaddrs *list;
    bool own = false;
    if (getifaddrs(&list) < 0)
        return false;
    for (const struct ifaddrs *i = list; i != NULL && !own; i = i->ifa_next)
        own = same_address(i->ifa_addr, addr);
    freeifaddrs(list);
    return own;
}
