// libFuzzer target for resolv.conf and the readers' view of /etc/hosts.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/etchosts.h"
#include "hostfile/hostname.h"
#include "hostfile/resolvconf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_conf(const char *text, size_t len)
{
    struct resolvconf rc;
    struct sockaddr_storage addr;
    resolvconf_parse(text, len, &rc);
    if (rc.servers.n > RESOLVCONF_SERVERS_MAX || rc.ndots < 0 || rc.ndots > 15)
        abort();
    for (size_t i = 0; i < rc.servers.n; i++)
        if (!hostname_literal(rc.servers.v[i], strlen(rc.servers.v[i]), &addr))
            abort();
    for (size_t i = 0; i < rc.search.n; i++)
        if (rc.search.v[i][0] == '\0' || strpbrk(rc.search.v[i], " \t\n") != NULL)
            abort();
    resolvconf_free(&rc);
}

static void check_hosts(const char *text, size_t len)
{
    struct etchosts *h = etchosts_parse(text, len);
    const struct sockaddr_storage *at = etchosts_find(h, "localhost");
    if (at != NULL && at->ss_family != AF_INET && at->ss_family != AF_INET6)
        abort();
    etchosts_destroy(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_conf((const char *)data, size);
    check_hosts((const char *)data, size);
    return 0;
}
