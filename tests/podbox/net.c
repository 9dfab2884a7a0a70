// Links by one `ip -batch`, addresses by ioctl inside the pod.
#include "tests/podbox/net.h"

#include <errno.h>
#include <net/if.h>
#include <net/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "tests/podbox/file.h"
#include "tests/podbox/ns.h"

enum { PREFIX6_BITS = 64 };

static int batch(const struct bed *bed, struct buf *lines, struct err *err)
{
    static const char *const argv[] = {"ip", "-batch", "-", NULL};
    CLEANUP_FREE char *text = buf_steal_str(lines);
    return ns_run(&bed->fabric, argv, text, err);
}

int net_fabric_up(const struct bed *bed, struct err *err)
{
    static const unsigned hosts[] = {BED_HOST_GATEWAY, BED_HOST_DNS};
    BUF_AUTO b = BUF_INIT;
    // An address of its own: else it is that of one of its ports, and changes with them,
    // and pods that were there before lose the DNS server until their ARP entries expire.
    buf_append_str(&b, "link set lo up\n"
                       "link add br0 address 0a:58:00:00:00:01 type bridge "
                       "mcast_snooping 0\n");
    for (size_t i = 0; i < 2; i++) {
        CLEANUP_FREE char *a = bed_addr_text(bed, hosts[i]);
        CLEANUP_FREE char *a6 = bed_addr6_text(bed, hosts[i]);
        buf_printf(&b, "addr add %s/%d dev br0\n", a, BED_PREFIX_BITS);
        if (bed->ipv6)
            buf_printf(&b, "addr add %s/%d dev br0 nodad\n", a6, PREFIX6_BITS);
    }
    buf_append_str(&b, "link set br0 up\n");
    return batch(bed, &b, err);
}

int net_plug(const struct bed *bed, size_t first, size_t n, struct err *err)
{
    BUF_AUTO b = BUF_INIT;
    for (const struct pod *p = bed->pods + first; p < bed->pods + first + n; p++) {
        struct in_addr a = bed_addr(bed, p->host);
        uint8_t ip[4];
        memcpy(ip, &a, sizeof ip);
        // The hardware address follows the address, as CNI's bridge plugin does it.
        buf_printf(&b,
                   "link add p%u type veth peer name eth0 address "
                   "0a:58:%02x:%02x:%02x:%02x netns %d\n"
                   "link set p%u master br0 up\n",
                   p->index, ip[0], ip[1], ip[2], ip[3], (int)p->sandbox.pid, p->index);
    }
    return batch(bed, &b, err);
}

int net_unplug(const struct bed *bed, const struct pod *pod, struct err *err)
{
    BUF_AUTO b = BUF_INIT;
    buf_printf(&b, "link del p%u\n", pod->index);
    return batch(bed, &b, err);
}

int net_apply_cuts(const struct bed *bed, struct err *err)
{
    static const char *const argv[] = {"nft", "-f", "-", NULL};
    BUF_AUTO ports = BUF_INIT, b = BUF_INIT;
    for (const struct pod *p = bed->pods; p < bed->pods + bed->npods; p++)
        if (p->cut)
            buf_printf(&ports, "%s\"p%u\"", buf_len(&ports) > 0 ? ", " : "", p->index);
    bool any = buf_len(&ports) > 0;
    CLEANUP_FREE char *set = buf_steal_str(&ports);
    buf_append_str(&b, "flush ruleset\n");
    if (any)
        buf_printf(&b,
                   "table bridge cut {\n"
                   "chain in { type filter hook prerouting priority 0; "
                   "iifname { %s } drop; }\n"
                   "chain out { type filter hook postrouting priority 0; "
                   "oifname { %s } drop; }\n}\n",
                   set, set);
    CLEANUP_FREE char *rules = buf_steal_str(&b);
    return ns_run(&bed->fabric, argv, rules, err);
}

// ---- inside the pod ---------------------------------------------------------

static int set_up(int fd, const char *link)
{
    struct ifreq r = {0};
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", link);
    if (ioctl(fd, SIOCGIFFLAGS, &r) < 0)
        return -1;
    r.ifr_flags = (short)(r.ifr_flags | IFF_UP);
    return ioctl(fd, SIOCSIFFLAGS, &r);
}

static struct sockaddr inet(struct in_addr a)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = a};
    struct sockaddr sa;
    memcpy(&sa, &sin, sizeof sa);
    return sa;
}

static int set_ipv4(int fd, const struct bed *bed, const struct pod *pod)
{
    struct in_addr mask = {htonl(~0U << (32 - BED_PREFIX_BITS))};
    struct ifreq r = {.ifr_name = "eth0"};
    r.ifr_addr = inet(bed_addr(bed, pod->host));
    if (ioctl(fd, SIOCSIFADDR, &r) < 0)
        return -1;
    r.ifr_netmask = inet(mask);
    if (ioctl(fd, SIOCSIFNETMASK, &r) < 0 || set_up(fd, "eth0") < 0)
        return -1;
    struct in_addr any = {0};
    struct rtentry route = {.rt_flags = RTF_UP | RTF_GATEWAY};
    route.rt_dst = inet(any);
    route.rt_genmask = inet(any);
    route.rt_gateway = inet(bed_addr(bed, BED_HOST_GATEWAY));
    return ioctl(fd, SIOCADDRT, &route);
}

// As the kernel wants it (its own header does not go with the C library's).
struct in6_request {
    struct in6_addr addr;
    uint32_t prefixlen;
    int ifindex;
};

static int set_ipv6(int fd, const struct bed *bed, const struct pod *pod)
{
    // No duplicate address detection: the address is usable at once.
    if (file_write("/proc/sys/net/ipv6/conf/eth0/accept_dad", "0", 0644, NULL) < 0)
        return -1;
    int ifindex = (int)if_nametoindex("eth0");
    struct in6_request r = {bed_addr6(bed, pod->host), PREFIX6_BITS, ifindex};
    struct in6_rtmsg route = {.rtmsg_gateway = bed_addr6(bed, BED_HOST_GATEWAY),
                              .rtmsg_metric = 1,
                              .rtmsg_flags = RTF_UP | RTF_GATEWAY,
                              .rtmsg_ifindex = ifindex};
    return ioctl(fd, SIOCSIFADDR, &r) < 0 ? -1 : ioctl(fd, SIOCADDRT, &route);
}

int net_configure(const struct bed *bed, const struct pod *pod, struct err *err)
{
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || set_up(fd, "lo") < 0 || set_ipv4(fd, bed, pod) < 0) {
        err_set_errno(err, errno, "cannot give the pod its IPv4 address");
        return -1;
    }
    CLEANUP_CLOSE int fd6 =
        bed->ipv6 ? socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (bed->ipv6 && (fd6 < 0 || set_ipv6(fd6, bed, pod) < 0)) {
        err_set_errno(err, errno, "cannot give the pod its IPv6 address");
        return -1;
    }
    return 0;
}
