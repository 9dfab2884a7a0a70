// libFuzzer target for the pod's own name: HOSTNAME, newline, /etc/hosts, NUL, resolv.conf.
#include "hostfile/podname.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A name in DNS is made of what the hostname says, and of one Service's at least.
static void check(const struct podname *p, const char *hostname)
{
    size_t n = strlen(p->host);
    if (p->service == NULL
            ? strcmp(p->host, hostname) != 0
            : n == 0 || p->service[0] == '.' || strpbrk(p->service, ",[] \t") != NULL ||
                  strncasecmp(hostname, p->host, n) != 0)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *all = xmemdup(data, size);
    char *end = all + size, *hosts = memchr(all, '\n', size);
    if (hosts == NULL || memchr(all, '\0', (size_t)(hosts - all)) != NULL)
        return 0;
    *hosts++ = '\0';
    char *resolv = memchr(hosts, '\0', (size_t)(end - hosts));
    if (resolv == NULL)
        return 0;
    struct podname p;
    podname_read(all, hosts, (size_t)(resolv - hosts), resolv + 1,
                 (size_t)(end - resolv - 1), &p);
    check(&p, all);
    podname_free(&p);
    return 0;
}
