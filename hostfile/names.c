// Candidates for a name, in the order in which they are asked.
#include "hostfile/names.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "hostfile/hostname.h"

const char *names_cluster_domain(const struct resolvconf *rc)
{
    for (size_t i = 0; i < rc->search.n; i++)
        if (strncasecmp(rc->search.v[i], "svc.", 4) == 0 && rc->search.v[i][4] != '\0')
            return rc->search.v[i] + 4;
    return NULL;
}

const char *names_namespace_domain(const struct resolvconf *rc)
{
    const char *domain = names_cluster_domain(rc);
    for (size_t i = 0; domain != NULL && i < rc->search.n; i++) {
        const char *dot = strchr(rc->search.v[i], '.');
        if (dot != NULL && strncasecmp(dot + 1, "svc.", 4) == 0 &&
            strcasecmp(dot + 5, domain) == 0)
            return rc->search.v[i];
    }
    return NULL;
}

static size_t labels(const char *name)
{
    size_t n = 1;
    for (const char *p = name; *p != '\0'; p++)
        n += *p == '.' ? 1 : 0;
    return n;
}

// "a.b.c" ends in "b.c", not in ".c"; a whole name does not end in itself.
static bool ends_in(const char *name, const char *suffix)
{
    size_t n = strlen(name), s = strlen(suffix);
    return n > s + 1 && name[n - s - 1] == '.' && strcasecmp(name + n - s, suffix) == 0;
}

static void add(struct names_plan *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct names_plan *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *name = xvasprintf(fmt, ap);
    va_end(ap);
    strv_add_steal(&p->ask, name);
    for (size_t i = 0; i + 1 < p->ask.n; i++) {
        if (strcasecmp(p->ask.v[i], name) == 0) {
            strv_remove(&p->ask, p->ask.n - 1);
            return;
        }
    }
}

// The name in the cluster, where its form says so: true when one was added.
static bool add_cluster(const struct resolvconf *rc, const char *name,
                        size_t short_form, struct names_plan *p)
{
    const char *domain = names_cluster_domain(rc);
    const char *here = names_namespace_domain(rc);
    if (domain == NULL)
        return false;
    if (ends_in(name, domain))
        add(p, "%s.", name);
    else if (ends_in(name, "svc"))
        add(p, "%s.%s.", name, domain);
    else if (labels(name) == short_form && here != NULL)
        add(p, "%s.%s.", name, here);
    else if (labels(name) == short_form + 1)
        add(p, "%s.svc.%s.", name, domain);
    else
        return false;
    return true;
}

static void add_searched(const struct resolvconf *rc, const char *name,
                         struct names_plan *p)
{
    for (size_t i = 0; i < rc->search.n; i++)
        add(p, "%s.%s.", name, rc->search.v[i]);
}

void names_plan(const struct resolvconf *rc, const char *name, bool absolute,
                enum names_kind kind, struct names_plan *out)
{
    *out = (struct names_plan){.hosts = NAMES_HOSTS_LAST};
    bool in_cluster = names_cluster_domain(rc) != NULL, single = labels(name) == 1;
    if (absolute) {
        add(out, "%s.", name);
        if (kind != NAMES_HOST && in_cluster)
            out->hosts = NAMES_HOSTS_NEVER;
        return;
    }
    if (single && kind != NAMES_SERVICE) {
        out->hosts = NAMES_HOSTS_FIRST;
        if (in_cluster) {
            add_searched(rc, name, out);
            return;
        }
    }
    if (in_cluster) {
        bool found = add_cluster(rc, name, kind == NAMES_SERVICE ? 1 : 2, out);
        // A Service without a ready pod does not exist in DNS: going on to other names
        // could only find a wildcard's address.
        if (!found && single)
            add_searched(rc, name, out);
        if (!found || kind == NAMES_HOST)
            add(out, "%s.", name);
        if (kind != NAMES_HOST)
            out->hosts = NAMES_HOSTS_NEVER;
        return;
    }
    add(out, "%s.", name);
    add_searched(rc, name, out);
}

// SERVICE.NAMESPACE.svc.DOMAIN: is it?
static bool is_service(const struct resolvconf *rc, const char *name)
{
    const char *domain = names_cluster_domain(rc);
    CLEANUP_FREE char *suffix = xasprintf("svc.%s", domain);
    return ends_in(name, suffix) && labels(name) == labels(suffix) + 2;
}

char *names_service(const struct resolvconf *rc, const char *name, bool absolute,
                    enum names_kind kind)
{
    struct names_plan plan;
    struct sockaddr_storage addr;
    if (hostname_literal(name, strlen(name), &addr))
        return NULL;
    names_plan(rc, name, absolute, kind, &plan);
    const char *parent = strchr(plan.ask.v[0], '.') + 1;
    char *service =
        xstrndup(parent, strlen(parent) > 0 ? strlen(parent) - 1 : 0); // final dot
    names_plan_free(&plan);
    bool in_cluster = names_cluster_domain(rc) != NULL;
    if (in_cluster ? is_service(rc, service)
                   : kind == NAMES_POD && strchr(service, '.') != NULL)
        return service;
    free(service);
    return NULL;
}

void names_plan_free(struct names_plan *plan)
{
    strv_free(&plan->ask);
}
