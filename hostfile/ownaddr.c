// Finding an own address among the interfaces.
#include "hostfile/ownaddr.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

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

bool ownaddr_get(struct sockaddr_storage *out)
{
    struct ifaddrs *list;
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
