// hosts as kubelet writes it, resolv.conf and hostname as the runtime does.
#include "tests/podbox/etc.h"

#include "common/buf.h"
#include "common/mem.h"
#include "tests/podbox/file.h"

char *etc_hosts(const struct bed *bed, const struct pod *pod)
{
    CLEANUP_FREE char *ip = bed_addr_text(bed, pod->host);
    CLEANUP_FREE char *ip6 = bed_addr6_text(bed, pod->host);
    CLEANUP_FREE char *fqdn = pod_fqdn(bed, pod);
    BUF_AUTO b = BUF_INIT;
    buf_append_str(&b, "# Kubernetes-managed hosts file.\n"
                       "127.0.0.1\tlocalhost\n"
                       "::1\tlocalhost ip6-localhost ip6-loopback\n"
                       "fe00::0\tip6-localnet\n"
                       "fe00::0\tip6-mcastprefix\n"
                       "fe00::1\tip6-allnodes\n"
                       "fe00::2\tip6-allrouters\n");
    buf_printf(&b, "%s\t%s\t%s\n", ip, fqdn, pod->name);
    if (bed->ipv6)
        buf_printf(&b, "%s\t%s\t%s\n", ip6, fqdn, pod->name);
    return buf_steal_str(&b);
}

char *etc_resolv(const struct bed *bed)
{
    CLEANUP_FREE char *dns = bed_addr_text(bed, BED_HOST_DNS);
    const char *domain = bed->domain;
    return xasprintf("search %s.svc.%s svc.%s %s\nnameserver %s\noptions ndots:5\n",
                     bed->ns, domain, domain, domain, dns);
}

int etc_write(const struct bed *bed, const struct pod *pod, struct err *err)
{
    CLEANUP_FREE char *hosts = etc_hosts(bed, pod), *resolv = etc_resolv(bed);
    CLEANUP_FREE char *name = xasprintf("%s\n", pod->name);
    CLEANUP_FREE char *hosts_path = pod_path(bed, pod, "hosts");
    CLEANUP_FREE char *resolv_path = pod_path(bed, pod, "resolv.conf");
    CLEANUP_FREE char *name_path = pod_path(bed, pod, "hostname");
    if (file_write(hosts_path, hosts, 0644, err) < 0 ||
        file_write(resolv_path, resolv, 0644, err) < 0)
        return -1;
    return file_write(name_path, name, 0644, err);
}
