// The pod's own line of /etc/hosts.
#include "hostfile/podname.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/strv.h"
#include "hostfile/hosts_block.h"
#include "hostfile/names.h"

static const char blanks[] = " \t\r";

// What stands behind "HOST." in a whole name; NULL: it is no name of this host.
static const char *behind_host(const char *whole, const char *host)
{
    size_t n = strlen(host);
    bool begins = strncasecmp(whole, host, n) == 0 && whole[n] == '.';
    return begins ? whole + n + 1 : NULL;
}

// Labels with dots between them, of what DNS names in Kubernetes are made of.
static bool is_name(const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    for (;; s++) {
        size_t n = strspn(s, letters);
        s += n;
        if (n == 0 || *s != '.')
            return n > 0 && *s == '\0';
    }
}

// "SUBDOMAIN.NAMESPACE.svc..."
static bool is_service(const char *name)
{
    const char *namespace = strchr(name, '.');
    const char *svc = namespace != NULL ? strchr(namespace + 1, '.') : NULL;
    return svc != NULL && strncasecmp(svc, ".svc", 4) == 0 &&
           (svc[4] == '.' || svc[4] == '\0');
}

static void take_line(struct podname *p, const char *hostname, char *line)
{
    line[strcspn(line, "#")] = '\0';
    char *rest, *whole, *host, *address = strtok_r(line, blanks, &rest);
    if (address == NULL || (whole = strtok_r(NULL, blanks, &rest)) == NULL)
        return;
    while ((host = strtok_r(NULL, blanks, &rest)) != NULL) {
        const char *service = behind_host(whole, host);
        bool own = strcasecmp(hostname, host) == 0 || strcasecmp(hostname, whole) == 0;
        if (service == NULL || !own || !is_name(whole) || !is_service(service))
            continue;
        free(p->host);
        p->host = xstrdup(host);
        p->service = xstrdup(service);
        return;
    }
}

// Where resolv.conf searches the pod's namespace the short form is enough.
static void shorten(struct podname *p, const char *resolv, size_t len)
{
    struct resolvconf rc;
    resolvconf_parse(resolv, len, &rc);
    char *dot = strchr(p->service, '.');
    const char *here = names_namespace_domain(&rc);
    if (here != NULL && strcasecmp(dot + 1, here) == 0)
        *dot = '\0';
    resolvconf_free(&rc);
}

void podname_read(const char *hostname, const char *hosts, size_t hosts_len,
                  const char *resolv, size_t resolv_len, struct podname *out)
{
    CLEANUP_FREE char *others = hosts_block_others(hosts, hosts_len);
    *out = (struct podname){.host = xstrdup(hostname)};
    char *rest, *line = strtok_r(others, "\n", &rest);
    for (; line != NULL && out->service == NULL; line = strtok_r(NULL, "\n", &rest))
        take_line(out, hostname, line);
    if (out->service != NULL)
        shorten(out, resolv, resolv_len);
}

void podname_free(struct podname *p)
{
    free(p->host);
    free(p->service);
    *p = (struct podname){0};
}
