// Zone files, updates and configuration for knotd.
#include "tests/podbox/zone.h"

#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"

const char *zone_file_name(enum zone zone)
{
    static const char *const names[] = {"cluster.zone", "reverse4.zone",
                                        "reverse6.zone", "root.zone"};
    return names[zone];
}

char *zone_name(const struct bed *bed, enum zone zone)
{
    switch (zone) {
    case ZONE_CLUSTER: return xasprintf("%s.", bed->domain);
    case ZONE_REVERSE4: return xstrdup("77.10.in-addr.arpa.");
    case ZONE_REVERSE6: return xstrdup("7.7.d.f.ip6.arpa.");
    default: return xstrdup(".");
    }
}

static char *ptr4(const struct bed *bed, unsigned host)
{
    struct in_addr a = bed_addr(bed, host);
    uint8_t b[4];
    memcpy(b, &a, sizeof b);
    return xasprintf("%u.%u.%u.%u.in-addr.arpa.", b[3], b[2], b[1], b[0]);
}

static char *ptr6(const struct bed *bed, unsigned host)
{
    struct in6_addr a = bed_addr6(bed, host);
    BUF_AUTO b = BUF_INIT;
    for (int i = 15; i >= 0; i--)
        buf_printf(&b, "%x.%x.", a.s6_addr[i] & 15U, a.s6_addr[i] >> 4);
    buf_append_str(&b, "ip6.arpa.");
    return buf_steal_str(&b);
}

// One record that a published pod has.
struct record {
    enum zone zone;
    char *owner, *data;
    const char *type;
};

enum { RECORDS_MAX = 6 };

static size_t pod_records(const struct bed *bed, const struct pod *pod, unsigned host,
                          struct record *r)
{
    size_t n = 0;
    char *service = xasprintf("%s.%s.svc.%s.", bed->service, bed->ns, bed->domain);
    char *fqdn = xasprintf("%s.%s", pod->name, service);
    r[n++] = (struct record){ZONE_CLUSTER, service, bed_addr_text(bed, host), "A"};
    r[n++] = (struct record){ZONE_CLUSTER, fqdn, bed_addr_text(bed, host), "A"};
    r[n++] = (struct record){ZONE_REVERSE4, ptr4(bed, host), xstrdup(fqdn), "PTR"};
    if (!bed->ipv6)
        return n;
    r[n++] = (struct record){ZONE_CLUSTER, xstrdup(service), bed_addr6_text(bed, host),
                             "AAAA"};
    r[n++] =
        (struct record){ZONE_CLUSTER, xstrdup(fqdn), bed_addr6_text(bed, host), "AAAA"};
    r[n++] = (struct record){ZONE_REVERSE6, ptr6(bed, host), xstrdup(fqdn), "PTR"};
    return n;
}

static void free_records(struct record *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mem_cleanup_free(&r[i].owner);
        mem_cleanup_free(&r[i].data);
    }
}

char *zone_file(const struct bed *bed, enum zone zone)
{
    CLEANUP_FREE char *name = zone_name(bed, zone);
    CLEANUP_FREE char *dns = bed_addr_text(bed, BED_HOST_DNS);
    BUF_AUTO b = BUF_INIT;
    buf_printf(&b, "%s %u SOA ns.dns.%s. hostmaster.%s. 1 7200 1800 86400 %u\n", name,
               bed->ttl, bed->domain, bed->domain, bed->ttl);
    buf_printf(&b, "%s %u NS ns.dns.%s.\n", name, bed->ttl, bed->domain);
    if (zone == ZONE_CLUSTER) {
        buf_printf(&b, "ns.dns.%s %u A %s\n", name, bed->ttl, dns);
        buf_printf(&b, "dns-version.%s 28800 TXT \"1.1.0\"\n", name);
    }
    for (size_t i = 0; i < bed->npods; i++) {
        struct record r[RECORDS_MAX];
        const struct pod *pod = &bed->pods[i];
        size_t n = pod_published(bed, pod) ? pod_records(bed, pod, pod->host, r) : 0;
        for (size_t k = 0; k < n; k++)
            if (r[k].zone == zone)
                buf_printf(&b, "%s %u %s %s\n", r[k].owner, bed->ttl, r[k].type,
                           r[k].data);
        free_records(r, n);
    }
    return buf_steal_str(&b);
}

char *zone_server_config(const struct bed *bed, const char *dir)
{
    CLEANUP_FREE char *dns = bed_addr_text(bed, BED_HOST_DNS);
    CLEANUP_FREE char *gateway = bed_addr_text(bed, BED_HOST_GATEWAY);
    BUF_AUTO b = BUF_INIT;
    buf_printf(&b,
               "server:\n  listen: %s@53\n  rundir: %s\n  user: root:root\n"
               "  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n"
               "  udp-max-payload: 1232\n"
               "control:\n  listen: %s/knot.sock\n"
               "database:\n  storage: %s\n"
               "log:\n  - target: %s/knot.log\n    any: info\n"
               "acl:\n  - id: bed\n    address: [%s, %s]\n    action: update\n"
               "template:\n  - id: default\n    storage: %s\n    acl: bed\n"
               "    zonefile-sync: 0\n    zonefile-load: whole\n"
               "    journal-content: none\n    semantic-checks: off\n"
               "zone:\n",
               dns, dir, dir, dir, dir, dns, gateway, dir);
    for (int z = 0; z < ZONE_COUNT; z++) {
        CLEANUP_FREE char *name = zone_name(bed, (enum zone)z);
        buf_printf(&b, "  - domain: %s\n    file: %s\n", name,
                   zone_file_name((enum zone)z));
    }
    return buf_steal_str(&b);
}

static void update_lines(const struct bed *bed, const struct zone_change *c,
                         enum zone zone, struct buf *b)
{
    struct record r[RECORDS_MAX];
    size_t n = pod_records(bed, c->pod, c->host, r);
    for (size_t k = 0; k < n; k++) {
        if (r[k].zone != zone)
            continue;
        if (c->published)
            buf_printf(b, "update add %s %u %s %s\n", r[k].owner, bed->ttl, r[k].type,
                       r[k].data);
        else
            buf_printf(b, "update delete %s %s %s\n", r[k].owner, r[k].type, r[k].data);
    }
    free_records(r, n);
}

char *zone_update(const struct bed *bed, const struct zone_change *changes, size_t n)
{
    BUF_AUTO b = BUF_INIT;
    for (int z = ZONE_CLUSTER; z < ZONE_ROOT; z++) {
        if (z == ZONE_REVERSE6 && !bed->ipv6)
            continue;
        CLEANUP_FREE char *name = zone_name(bed, (enum zone)z);
        buf_printf(&b, "zone %s\n", name);
        for (size_t i = 0; i < n; i++)
            update_lines(bed, &changes[i], (enum zone)z, &b);
        buf_append_str(&b, "send\n");
    }
    return buf_steal_str(&b);
}

char *zone_update_name(const struct bed *bed, const char *name, const char *type,
                       const char *address)
{
    CLEANUP_FREE char *zone = zone_name(bed, ZONE_CLUSTER);
    BUF_AUTO b = BUF_INIT;
    buf_printf(&b, "zone %s\nupdate delete %s A\nupdate delete %s AAAA\n", zone, name,
               name);
    if (address != NULL)
        buf_printf(&b, "update add %s %u %s %s\n", name, bed->ttl, type, address);
    buf_append_str(&b, "send\n");
    return buf_steal_str(&b);
}
